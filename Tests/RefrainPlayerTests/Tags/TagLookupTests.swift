// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import TestSupport
import Testing

@testable import RefrainPlayer

/// Reading tags through the cache, and from files.
@Suite(.timeLimit(.minutes(1))) struct TagLookupTests {
  private struct Place {
    let origin: OriginServer
    let cache: MediaCache
    let directory: URL

    func serve(
      _ bytes: [UInt8], at path: String, _ change: (inout OriginResource) -> Void = { _ in }
    ) {
      var resource = OriginResource(
        .bytes(bytes), contentType: "audio/mpeg", etag: "\"\(path)\"",
        headers: [Field("Cache-Control", "max-age=86400")])
      change(&resource)
      origin.serve(resource, at: path)
    }

    func look(at path: String, isOnlyStored: Bool = false) async throws -> TagLookup.Answer {
      let subject = TagSubject(Media(origin.url(path)))
      return try await TagLookup(cache: cache, subject: subject, isOnlyStored: isOnlyStored).run()
    }

    func play(_ path: String) async throws -> Data {
      let media = Media(origin.url(path)).asEngineMedia
      let reader = try await cache.open(try #require(media.resource))
      defer { reader.cancel() }
      return try await reader.bytes(in: 0..<(1 << 30))
    }
  }

  private func withPlace(_ body: (Place) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory
      .appending(path: "refrain-tags-\(UUID().uuidString)", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    // Bytes in socket buffers count as sent.
    let origin = try await OriginServer.start(sendBuffer: 16 << 10)
    let cache = try MediaCache(directory: directory.appending(path: "cache"))
    let result: Result<Void, any Error>
    do {
      try await body(Place(origin: origin, cache: cache, directory: directory))
      result = .success(())
    } catch {
      result = .failure(error)
    }
    await cache.close()
    await origin.stop()
    try result.get()
  }

  @Test func `The first bytes are requested once, and playing requests the others`() async throws {
    try await withPlace { place in
      let file = TagSamples.mp3(samples: 300_000)
      place.serve(file, at: "/a.mp3")
      for _ in 0..<2 {
        let answer = try await place.look(at: "/a.mp3")
        #expect(answer.tags == TagSamples.tags)
      }
      let log = place.origin.log("/a.mp3")
      #expect(log.requests.map(\.request.range) == ["bytes=0-16383"])
      #expect(log.bodyBytesSent == TagLookup.firstStep)
      #expect(try await place.play("/a.mp3") == Data(file))
      let all = place.origin.log("/a.mp3")
      #expect(all.bodyBytesSent == Int64(file.count) && all.bytesSentTwice == 0)
    }
  }

  @Test(arguments: ["mp3", "flac", "m4a"])
  func `A large picture is skipped by a range`(_ kind: String) async throws {
    try await withPlace { place in
      let size = 1_000_000
      let file =
        switch kind {
        case "mp3": TagSamples.mp3(picture: size)
        case "flac": TagSamples.flac(picture: size)
        default: TagSamples.mp4(picture: size)
        }
      place.serve(file, at: "/a.\(kind)")
      let answer = try await place.look(at: "/a.\(kind)")
      #expect(answer.tags == TagSamples.tags)
      let log = place.origin.log("/a.\(kind)")
      #expect(log.bodyBytesSent < 32 << 10 && log.requests.count <= 4)
      #expect(try await place.play("/a.\(kind)") == Data(file))
      #expect(place.origin.log("/a.\(kind)").bytesSentTwice == 0)
    }
  }

  @Test func `A tag without an end costs at most 256 KiB and a dozen requests`() async throws {
    try await withPlace { place in
      let frame = TagSamples.frame("TXXX", TagSamples.noise(20_000), version: 3)
      // Not `joined`, which takes each byte in turn.
      let frames = repeatElement(frame, count: 200).reduce(into: [UInt8]()) { $0 += $1 }
      place.serve(TagSamples.id3(frames, version: 3), at: "/a.mp3")
      let answer = try await place.look(at: "/a.mp3")
      #expect(answer.tags == nil)
      let log = place.origin.log("/a.mp3")
      #expect(log.bodyBytesSent <= TagLookup.mostBytes)
      #expect(log.requests.count <= TagLookup.mostSteps)
    }
  }

  @Test func `Tags at the end are read once they are stored`() async throws {
    try await withPlace { place in
      let file = [0xFF, 0xFB] + TagSamples.noise(50_000) + TagSamples.id3v1
      place.serve(file, at: "/a.mp3")
      #expect(try await place.look(at: "/a.mp3").tags == nil)
      #expect(place.origin.log("/a.mp3").bodyBytesSent == TagLookup.firstStep)
      _ = try await place.play("/a.mp3")
      #expect(try await place.look(at: "/a.mp3").tags?.artist == TagSamples.artist)
      #expect(place.origin.log("/a.mp3").bodyBytesSent == Int64(file.count))
    }
  }

  @Test func `Stored media is read without a request, even if it is stale`() async throws {
    try await withPlace { place in
      place.serve(TagSamples.flac(), at: "/a") {
        $0.headers = [Field("Cache-Control", "max-age=0")]
      }
      _ = try await place.play("/a")
      await place.cache.close()
      let cache = try MediaCache(directory: place.directory.appending(path: "cache"))
      let later = Place(origin: place.origin, cache: cache, directory: place.directory)
      let before = place.origin.log("/a").requests.count
      #expect(try await later.look(at: "/a").tags == TagSamples.tags)
      #expect(place.origin.log("/a").requests.count == before)
      await cache.close()
    }
  }

  @Test func `A URL without a known extension is requested by nobody`() async throws {
    try await withPlace { place in
      place.serve(TagSamples.flac(), at: "/a")
      let unnamed = try await place.look(at: "/a")
      #expect(unnamed == TagLookup.Answer())
      place.serve(TagSamples.flac(), at: "/b.flac")
      #expect(try await place.look(at: "/b.flac", isOnlyStored: true) == TagLookup.Answer())
      let sent = ["/a", "/b.flac"].map { place.origin.log($0).requests.count }
      #expect(sent == [0, 0])
    }
  }

  @Test func `A station is left at once`() async throws {
    try await withPlace { place in
      place.origin.serve(.station(seed: 1), at: "/live.mp3")
      #expect(try await place.look(at: "/live.mp3").tags == nil)
      try await place.origin.wait(for: "/live.mp3") { $0.running == 0 }
      #expect(place.origin.log("/live.mp3").requests.count == 1)
    }
  }

  @Test func `An origin that sends everything in place of a range is noticed`() async throws {
    try await withPlace { place in
      place.serve(TagSamples.mp3(samples: 20_000_000), at: "/a.mp3") { $0.supportsRanges = false }
      let answer = try await place.look(at: "/a.mp3")
      #expect(answer.tags == TagSamples.tags && answer.refusesRanges)
      try await place.origin.wait(for: "/a.mp3") { $0.running == 0 }
      #expect(place.origin.log("/a.mp3").requests.count == 1)
    }
  }

  @Test func `A missing media has no tags, and is requested once`() async throws {
    try await withPlace { place in
      let missing = try await place.look(at: "/missing.mp3")
      #expect(missing == TagLookup.Answer())
      #expect(place.origin.log("/missing.mp3").requests.count == 1)
      place.origin.script("/busy.mp3", .on(.all, .status(503)))
      #expect(try await place.look(at: "/busy.mp3") == TagLookup.Answer())
      #expect(place.origin.log("/busy.mp3").requests.count == 1)
    }
  }

  @Test func `A look that is cancelled while the origin is silent ends`() async throws {
    try await withPlace { place in
      place.serve(TagSamples.mp3(), at: "/a.mp3")
      place.origin.script("/a.mp3", .on(.all, .stall(at: .body(100))))
      let look = Task { try await place.look(at: "/a.mp3") }
      try await place.origin.wait(for: "/a.mp3") { $0.stalled == 1 }
      look.cancel()
      await #expect(throws: CancellationError.self) { try await look.value }
    }
  }

  // MARK: Files

  @Test func `A file is read directly, of which anything may be at its end`() async throws {
    try await withPlace { place in
      for (name, bytes) in [
        ("a.m4a", TagSamples.mp4(isMovieFirst: false, picture: 400_000)),
        ("b.ogg", TagSamples.ogg(.opus)),
        ("c.wav", TagSamples.wave(isListFirst: false)),
      ] {
        let file = place.directory.appending(path: name)
        try Data(bytes).write(to: file)
        let lookup = TagLookup(cache: place.cache, subject: TagSubject(Media(file)))
        #expect(try await lookup.run() == TagLookup.Answer(tags: TagSamples.tags))
      }
    }
  }

  @Test func `A pipe and a missing file have no tags`() async throws {
    try await withPlace { place in
      let pipe = place.directory.appending(path: "pipe.mp3")
      try #require(mkfifo(pipe.path(percentEncoded: false), 0o600) == 0)
      for file in [pipe, place.directory.appending(path: "missing.mp3"), place.directory] {
        let lookup = TagLookup(cache: place.cache, subject: TagSubject(Media(file)))
        #expect(try await lookup.run() == TagLookup.Answer())
      }
    }
  }
}
