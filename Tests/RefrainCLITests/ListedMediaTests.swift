// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import RefrainPlayer
  import Testing

  @testable import RefrainCLI

  /// Items of the queue in which the player found no media.
  @Suite(.timeLimit(.minutes(1))) struct ListedMediaTests {
    fileprivate static let failure = MediaCacheError(
      .invalidResponse, "It is not media.", remedy: "Look at it.")

    private func names(_ expansion: ArgumentExpansion) -> [String] {
      expansion.media.map(\.url.lastPathComponent)
    }

    @Test func `A list under a name of media is read from its stored bytes`() async throws {
      try await CacheAndOrigin.with { place in
        let feed = "<rss><channel><item><enclosure url='1.mp3'/></item></channel></rss>"
        // They are stale: another player would ask about them.
        let item = try await place.play(feed, "/song.mp3")
        #expect(names(try await place.expansion(of: item)) == ["1.mp3"])
        #expect(place.origin.log("/song.mp3").requests.count == 1)
        // Without a mark, the type decides.
        let plain = try await place.play("a.mp3\nb.mp3\n", "/plain.mp3", "audio/x-mpegurl")
        #expect(names(try await place.expansion(of: plain)) == ["a.mp3", "b.mp3"])
      }
    }

    @Test func `A list that is not stored is requested`() async throws {
      try await CacheAndOrigin.with { place in
        let item = Media(place.serve("[playlist]\nFile1=a.mp3\n", "/list.mp3"))
        try await #expect(names(place.expansion(of: item)) == ["a.mp3"])
      }
    }

    @Test func `A file under a name of media is read as a list`() async throws {
      try await CacheAndOrigin.with { place in
        let file = try place.write("[playlist]\nFile1=a.mp3\n", "song.mp3")
        let expansion = try await place.expansion(of: Media(file))
        #expect(expansion.media.map(\.url.path) == [place.folder.appending(path: "a.mp3").path])
        let missing = Media(place.folder.appending(path: "missing.mp3"))
        #expect(await place.error(of: missing) == Self.failure)
      }
    }

    @Test func `What is no list has an error that names its kind`() async throws {
      try await CacheAndOrigin.with { place in
        let page = try await place.play("<html></html>", "/page.mp3")
        #expect(await place.error(of: page)?.reason.contains("is a web page") == true)
        let sound = try await place.play("RIFF and more", "/sound.mp3")
        #expect(await place.error(of: sound) == Self.failure)
        let document = try await place.play("{\"file\": \"a.mp3\"}", "/document.mp3")
        #expect(
          await place.error(of: document)?.reason.contains("is a JSON document, not media") == true)
      }
    }

    @Test func `Headers are sent to the list's own origin alone`() async throws {
      try await CacheAndOrigin.with { place in
        var item = try await place.play("#EXTM3U\na.mp3\nhttp://h.example/b.mp3\n", "/list.mp3")
        item.headers = ["X-Token": "abc"]
        let media = try await place.expansion(of: item).media
        #expect(media.map(\.headers) == [item.headers, [:]])
      }
    }
  }

  extension CacheAndOrigin {
    /// Serves a text, and stores it as a player that reads it does.
    fileprivate func play(
      _ text: String, _ path: String, _ type: String = "audio/mpeg"
    ) async throws -> Media {
      let url = serve(text, path, type)
      _ = try await cache.prefetch(url)
      return Media(url)
    }

    fileprivate func expansion(of item: Media) async throws -> ArgumentExpansion {
      try await ListedMedia(cache: cache).expansion(of: item, after: ListedMediaTests.failure)
    }

    fileprivate func error(of item: Media) async -> MediaCacheError? {
      do {
        _ = try await expansion(of: item)
        return nil
      } catch {
        return error as? MediaCacheError
      }
    }
  }
#endif
