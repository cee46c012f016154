// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

/// ffmpeg, mpv and VLC, each on a file that is not stored.
@Suite(.enabled(if: RequiredProgram.ffmpeg.isUsable), .timeLimit(.minutes(5)))
struct DecoderTests {
  @Test(arguments: Decoder.usable, Media.allCases)
  func `Decoders return the same output through the proxy as directly`(
    _ decoder: Decoder, _ media: Media
  ) async throws {
    let path = "/" + media.name
    let whole = try await Self.direct(media, by: decoder)
    let rest = try await Self.direct(media, by: decoder, from: Media.middle)
    try await Proxied.with { proxied in
      try await proxied.serve(media, at: path)
      let late = try await decoder.decode(
        try proxied.proxied(path), from: Media.middle, hasVideo: media.hasVideo)
      #expect(late == rest, "cold, from the middle on")
      for state in ["with a hole", "warm"] {
        let all = try await decoder.decode(try proxied.proxied(path), hasVideo: media.hasVideo)
        #expect(all == whole, "\(state)")
      }
      await proxied.stop()
      await proxied.expectNoByteReceivedTwice(path, of: try await media.bytes())
    }
  }

  @Test(arguments: Media.allCases)
  func `All decoders at once fetch each byte of a cold file once`(_ media: Media) async throws {
    let path = "/" + media.name
    try await Proxied.with { proxied in
      try await proxied.serve(media, at: path)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for decoder in Decoder.usable {
          group.addTask {
            let whole = try await Self.direct(media, by: decoder)
            let all = try await decoder.decode(try proxied.proxied(path), hasVideo: media.hasVideo)
            #expect(all == whole, "\(decoder)")
          }
        }
        try await group.waitForAll()
      }
      await proxied.stop()
      await proxied.expectNoByteReceivedTwice(path, of: try await media.bytes())
    }
  }

  private struct Direct: Hashable {
    var decoder: Decoder
    var media: Media
    var start: Double?
  }

  private static let direct = MadeOnce<Direct, Decoded>()

  /// Returns the result for a file from the origin itself, which is expected through the proxy.
  private static func direct(
    _ media: Media, by decoder: Decoder, from start: Double? = nil
  ) async throws -> Decoded {
    let key = Direct(decoder: decoder, media: media, start: start)
    return try await direct.value(for: key) {
      try await withOrigin { origin in
        origin.serve(try await media.resource(), at: "/" + media.name)
        return try await decoder.decode(
          origin.url("/" + media.name), from: start, hasVideo: media.hasVideo)
      }
    }
  }
}
