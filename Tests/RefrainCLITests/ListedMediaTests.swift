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
    private struct Place {
      let folder: URL
      let origin: OriginServer
      let cache: MediaCache

      /// Serves a text, and stores it as a player that reads it does.
      func play(
        _ text: String, _ path: String, _ type: String = "audio/mpeg"
      ) async throws -> Media {
        origin.serve(
          OriginResource(.bytes(Array(text.utf8)), contentType: type, etag: "\"x\""), at: path)
        _ = try await cache.prefetch(origin.url(path))
        return Media(origin.url(path))
      }

      func expansion(of item: Media) async throws -> ArgumentExpansion {
        try await ListedMedia(cache: cache).expansion(of: item, after: ListedMediaTests.failure)
      }

      func error(of item: Media) async -> MediaCacheError? {
        do {
          _ = try await expansion(of: item)
          return nil
        } catch {
          return error as? MediaCacheError
        }
      }
    }

    private static let failure = MediaCacheError(
      .invalidResponse, "It is not media.", remedy: "Look at it.")

    private func with(_ body: (Place) async throws -> Void) async throws {
      let folder = FileManager.default.temporaryDirectory
        .appending(path: "refrain-listed-\(UUID().uuidString)", directoryHint: .isDirectory)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let origin = try await OriginServer.start()
      let cache = try MediaCache(directory: folder.appending(path: ".cache"))
      let result: Result<Void, any Error>
      do {
        try await body(Place(folder: folder, origin: origin, cache: cache))
        result = .success(())
      } catch {
        result = .failure(error)
      }
      await cache.close()
      await origin.stop()
      try result.get()
    }

    private func names(_ expansion: ArgumentExpansion) -> [String] {
      expansion.media.map(\.url.lastPathComponent)
    }

    @Test func `A list under a name of media is read from its stored bytes`() async throws {
      try await with { place in
        let feed = "<rss><channel><item><enclosure url='1.mp3'/></item></channel></rss>"
        // They are stale: another player would ask about them.
        let item = try await place.play(feed, "/song.mp3")
        do {
          let found = try await place.expansion(of: item)
          #expect(names(found) == ["1.mp3"])
        }
        #expect(place.origin.log("/song.mp3").requests.count == 1)
        // Without a mark, the type decides.
        let plain = try await place.play("a.mp3\nb.mp3\n", "/plain.mp3", "audio/x-mpegurl")
        do {
          let found = try await place.expansion(of: plain)
          #expect(names(found) == ["a.mp3", "b.mp3"])
        }
      }
    }

    @Test func `A list that is not stored is requested`() async throws {
      try await with { place in
        place.origin.serve(
          OriginResource(.bytes(Array("[playlist]\nFile1=a.mp3\n".utf8)), etag: "\"x\""),
          at: "/list.mp3")
        let item = Media(place.origin.url("/list.mp3"))
        do {
          let found = try await place.expansion(of: item)
          #expect(names(found) == ["a.mp3"])
        }
      }
    }

    @Test func `A file under a name of media is read as a list`() async throws {
      try await with { place in
        let file = place.folder.appending(path: "song.mp3")
        try Data("[playlist]\nFile1=a.mp3\n".utf8).write(to: file)
        let expansion = try await place.expansion(of: Media(file))
        #expect(expansion.media.map(\.url.path) == [place.folder.appending(path: "a.mp3").path])
        let missing = Media(place.folder.appending(path: "missing.mp3"))
        #expect(await place.error(of: missing) == Self.failure)
      }
    }

    @Test func `What is no list has an error that names its kind`() async throws {
      try await with { place in
        let page = try await place.play("<html></html>", "/page.mp3")
        #expect(await place.error(of: page)?.reason.contains("is a web page") == true)
        let sound = try await place.play("RIFF and more", "/sound.mp3")
        #expect(await place.error(of: sound) == Self.failure)
        let document = try await place.play("{\"file\": \"a.mp3\"}", "/document.mp3")
        #expect(
          await place.error(of: document)?.reason.contains("is a JSON document, not media") == true)
      }
    }

    @Test func `A list in itself is left out, also by way of another one`() async throws {
      try await with { place in
        let outer = place.origin.url("/outer.mp3")
        var item = try await place.play("#EXTM3U\nouter.mp3\ninner.mp3\na.mp3\n", "/inner.mp3")
        item.lists = [outer]
        let expansion = try await place.expansion(of: item)
        #expect(names(expansion) == ["a.mp3"])
        #expect(expansion.skipped.count == 2)
        #expect(
          expansion.skipped.allSatisfy { $0.hasSuffix("it is a playlist that lists itself.") })
      }
    }

    @Test func `Headers are sent to the list's own origin alone`() async throws {
      try await with { place in
        var item = try await place.play("#EXTM3U\na.mp3\nhttp://h.example/b.mp3\n", "/list.mp3")
        item.headers = ["X-Token": "abc"]
        let media = try await place.expansion(of: item).media
        #expect(media.map(\.headers) == [item.headers, [:]])
      }
    }
  }
#endif
