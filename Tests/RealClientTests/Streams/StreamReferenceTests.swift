// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

/// The references of playlists behind the proxy, followed without a player: also those that no
/// player of these tests follows, such as subtitles and other languages.
@Suite(
  .enabled(if: RequiredProgram.ffmpeg.isUsable), .timeLimit(.minutes(TestSeed.minutes(5))))
struct StreamReferenceTests {
  private struct Step {
    var name: String
    var url: URL
  }

  @Test(arguments: StreamFixture.Kind.allCases.filter(\.isPlaylist))
  func `Each reference of a proxied playlist leads to the proxy and to the origin's bytes`(
    _ kind: StreamFixture.Kind
  ) async throws {
    let stream = try await StreamFixture.made(kind)
    try await Proxied.with { proxied in
      stream.serve(on: proxied.origin)
      let entry = try proxied.proxied(stream.entry)
      var waiting = [Step(name: kind.recipe.entry, url: entry)]
      var seen: Set<String> = []
      while let step = waiting.popLast() {
        guard seen.insert(step.name).inserted else { continue }
        #expect(step.url.host() == entry.host() && step.url.port == entry.port, "\(step)")
        let (answer, url) = try await Self.get(step.url)
        #expect(answer.status == 200, "\(step)")
        let served = stream.bytes(of: step.name, on: proxied.origin)
        if step.name.hasSuffix(".m3u8") {
          waiting += try Self.steps(
            from: Data(answer.body), at: url, served: served,
            at: proxied.direct(stream.folder + step.name), in: stream.folder)
        } else {
          #expect(Data(answer.body) == served, "\(step)")
        }
      }
      #expect(seen == Set(stream.files.keys))
    }
  }

  /// Returns the response, and its URL: a stream that needs cookies continues under another one.
  private static func get(_ url: URL) async throws -> (reply: Reply, url: URL) {
    let reply = try await Proxied.reply(to: url)
    guard reply.status == 302 else { return (reply, url) }
    let location = try #require(reply["Location"])
    let target = try #require(URL(string: location, relativeTo: url)?.absoluteURL)
    return (try await Proxied.reply(to: target), target)
  }

  /// Returns the names of the references that the origin serves, with the URLs to which the proxy
  /// refers instead.
  private static func steps(
    from answer: Data, at url: URL, served: Data, at direct: URL, in folder: String
  ) throws -> [Step] {
    func urls(_ data: Data, _ base: URL) throws -> [URL] {
      let playlist = String(decoding: data, as: UTF8.self)
      return try StreamReferences(playlist: playlist).all.map { reference in
        try #require(URL(string: reference, relativeTo: base)?.absoluteURL)
      }
    }
    let (origins, proxies) = (try urls(served, direct), try urls(answer, url))
    try #require(origins.count == proxies.count && !origins.isEmpty)
    return zip(origins, proxies).map { origin, proxy in
      Step(name: String(origin.path(percentEncoded: false).dropFirst(folder.count)), url: proxy)
    }
  }
}
