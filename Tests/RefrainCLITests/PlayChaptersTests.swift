// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import RefrainPlayer
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// The chapters that `play` reports, as its player's events follow each other.
  @MainActor
  @Suite(.timeLimit(.minutes(1))) struct PlayChaptersTests {
    private func items(_ media: [Media]) -> [PlayQueue.Item] {
      var queue = PlayQueue()
      queue.replace(with: media)
      return queue.items
    }

    private func episode(_ name: String, _ place: CacheAndOrigin) throws -> Media {
      var media = Media(URL(filePath: "/\(name).mp3"))
      media.chaptersURL = try place.write(
        """
        {"chapters":[{"startTime":0,"title":"\(name) 1"},{"startTime":9,"title":"\(name) 2"}]}
        """, "\(name).json")
      return media
    }

    @Test func `The first chapter of every item is reported`() async throws {
      try await CacheAndOrigin.with { place in
        let chapters = PlayChapters(cache: place.cache)
        var titles: [String?] = []
        let report = PlaybackReport(timeToFirstSound: nil, statistics: nil)
        let items = items([try episode("A", place), try episode("B", place)])
        // The last one repeats.
        for item in [items[0], items[1], items[1]] {
          for event in [
            .item(item), .position(.zero), .started(item, after: .zero), .position(.zero),
            .position(.seconds(10)), .report(item, report), .position(.seconds(10)),
          ] as [PlayerEvent] {
            if let chapter = chapters.note(event) { titles.append(chapter.title) }
            await chapters.loading?.value
          }
        }
        #expect(titles == ["A 1", "A 2", "B 1", "B 2", "B 1", "B 2"])
      }
    }

    @Test func `A file of chapters is fetched, with headers for the same server`() async throws {
      try await CacheAndOrigin.with { place in
        let chapters = PlayChapters(cache: place.cache)
        try await OriginServer.with { other in
          let servers = [place.origin, other]
          let text = #"{"version":"1.2.0","chapters":[{"startTime":0,"title":"One"}]}"#
          for server in servers {
            server.serve(text: text, at: "/c.json", "application/json")
            var media = Media(place.origin.url("/a.mp3"), headers: ["Authorization": "Bearer abc"])
            media.chaptersURL = server.url("/c.json")
            let item = try #require(items([media]).first)
            _ = chapters.note(.item(item))
            _ = chapters.note(.started(item, after: .zero))
            try await eventually("the chapter begins") {
              chapters.note(.position(.seconds(1)))?.title == "One"
            }
          }
          let sent = servers.map {
            Set($0.log("/c.json").requests.map { $0.request.headers.first("Authorization") })
          }
          #expect(sent == [["Bearer abc"], [nil]])
        }
      }
    }
  }
#endif
