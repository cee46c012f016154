// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import TestSupport

/// A page that shows everything: rows with several pieces, one that is being fetched and read, a
/// stream, a download that runs and one that has failed.
enum FilledPage {
  static func with(
    hasClipboard: Bool = false, _ body: @Sendable (Proxied, DevTools) async throws -> Void
  ) async throws {
    try await Proxied.with(hasPage: true) { proxied in
      guard let page = proxied.page, let port = page.port else {
        throw ClientFailure(description: "The proxy has no page.")
      }
      let origin = proxied.origin
      origin.serve(tone, at: "/tone.wav")
      origin.serve(.synthetic(seed: 7, length: 4 << 20), at: "/film.mkv")
      origin.serve(.synthetic(seed: 8, length: 400_000), at: "/slow.mkv")
      origin.script("/slow.mkv", .on(.all, .stall(at: .body(30_001))))
      origin.serve(.synthetic(seed: 9, length: 8 << 20), at: "/waits.flac")
      origin.script("/waits.flac", .on(.all, .stall(at: .body(1000))))
      origin.script("/gone.flac", .on(.all, .status(404)))
      serveStream(of: origin)
      try await get("/film.mkv", range: "100003-1200002", proxied)
      try await get("/film.mkv", range: "2500001-3100003", proxied)
      for path in ["/main.m3u8", "/list.m3u8", "/0.ts", "/tone.wav"] {
        try await get(path, proxied)
      }
      let slow = try proxied.proxied("/slow.mkv").path(percentEncoded: true)
      try await DevTools.with(page, isAlone: hasClipboard) { tools in
        if hasClipboard { try await tools.permitClipboard() }
        try await tools.waitForPage()
        for path in ["/tone.wav", "/waits.flac", "/gone.flac"] {
          try await add(origin.url(path), tools)
        }
        try await tools.wait(
          for: "the states of the downloads",
          """
          ["is fetched", "404"].every((state) =>
            document.getElementById("rows").textContent.includes(state))
          """)
        // Downloads give way to a reader that waits: it comes after them.
        try await RawConnection.open(port: port) { reader in
          try await reader.request(slow, host: "127.0.0.1:\(port)")
          _ = try await reader.readHead()
          _ = try await reader.read(upTo: 20_000)
          for name in ["film.mkv", "main.m3u8", "slow.mkv", "tone.wav"] {
            try await tools.wait(
              for: "the row of \(name)",
              "[...document.querySelectorAll('.row b')].some((b) => b.textContent === '\(name)')")
          }
          try await tools.wait(
            for: "the part of the stream",
            "[...document.querySelectorAll('.row .strip')].some((strip) => "
              + "strip.textContent.includes('1 part stored'))")
          try await tools.wait(
            for: "the reader",
            "[...document.querySelectorAll('canvas')].some((canvas) => "
              + "canvas.ariaLabel?.includes('being fetched, 1 reader'))")
          try await body(proxied, tools)
        }
      }
    }
  }

  /// A second of silence, which every browser plays.
  static var tone: OriginResource {
    let samples = [UInt8](repeating: 0x80, count: 8000)
    let head = WAV.head(samples.count, rate: 8000, channels: 1, bytesPerSample: 1)
    return OriginResource(
      .bytes(head + samples), contentType: "audio/wav", etag: "\"tone\"",
      headers: [Field("Cache-Control", "max-age=3600")])
  }

  private static func serveStream(of origin: OriginServer) {
    let type = "application/vnd.apple.mpegurl"
    let main = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000000,RESOLUTION=640x360\nlist.m3u8\n"
    let list = "#EXTM3U\n#EXTINF:4,\n0.ts\n#EXTINF:4,\n1.ts\n#EXT-X-ENDLIST\n"
    for (path, text) in [("/main.m3u8", main), ("/list.m3u8", list)] {
      origin.serve(
        OriginResource(
          .bytes(Data(text.utf8)), contentType: type, etag: "\"\(path)\"",
          headers: [Field("Cache-Control", "max-age=3600")]), at: path)
    }
    for index in 0..<2 {
      origin.serve(.synthetic(seed: UInt64(index), length: 10_000), at: "/\(index).ts")
    }
  }

  private static func get(
    _ path: String, range: String? = nil, _ proxied: Proxied
  ) async throws {
    let fields = range.map { ["Range: bytes=\($0)"] } ?? []
    let reply = try await Proxied.reply(to: proxied.proxied(path), fields)
    guard [200, 206].contains(reply.status) else {
      throw ClientFailure(description: "\(path): \(reply.status)")
    }
  }

  static func add(_ url: URL, _ tools: DevTools) async throws {
    let change = "{ action: 'add', url: \(JSONText.of(url.absoluteString)) }"
    let isDone: Bool = try await tools.evaluate(
      "import('./page/page.js').then((store) => store.act(\(change)))")
    guard isDone else { throw ClientFailure(description: "\(url) was not added.") }
  }
}
