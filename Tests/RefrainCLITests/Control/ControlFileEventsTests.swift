// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import Testing

  @testable import RefrainCLI
  @testable import RefrainPlayer

  /// mpv's events of files, as a player's events follow each other.
  struct ControlFileEventsTests {
    private let items: [PlayQueue.Item]
    private let report = PlaybackReport(timeToFirstSound: nil, statistics: nil)
    private let error = MediaCacheError(.unreachable, "a is away.", remedy: "Wait.")

    init() {
      var queue = PlayQueue()
      queue.replace(with: [Media(URL(filePath: "/a.ogg")), Media(URL(filePath: "/b.ogg"))])
      items = queue.items
    }

    /// Returns the events, as in `start-file 0` and `end-file 0 eof`.
    private func told(_ events: [PlayerEvent], isQuitting: Bool = false) -> [String] {
      var files = ControlFileEvents()
      return events.flatMap { files.note($0, isQuitting: isQuitting) }.map { value in
        guard case .object(let members) = value else { return "-" }
        return ["event", "playlist_entry_id", "reason", "file_error"]
          .compactMap { members[$0]?.propertyText }.joined(separator: " ")
      }
    }

    @Test func `Each item that plays begins and ends once`() {
      #expect(
        told([
          .item(items[0]), .status(.loading), .started(items[0], after: .zero), .status(.playing),
          .seekCompleted(.zero), .finished(items[0]), .report(items[0], report), .item(items[1]),
          .status(.loading), .started(items[1], after: .zero), .report(items[1], report),
          .status(.idle), .status(.idle),
        ]) == [
          "start-file 0", "file-loaded", "playback-restart", "playback-restart", "end-file 0 eof",
          "start-file 1", "file-loaded", "playback-restart", "end-file 1 stop", "idle",
        ])
    }

    @Test func `An item that fails ends with an error`() {
      #expect(
        told([
          .item(items[0]), .status(.loading), .failed(items[0], error), .report(items[0], report),
          .status(.failed(error)), .status(.loading), .failed(items[0], error),
        ]) == [
          "start-file 0", "end-file 0 error loading failed", "start-file 0",
          "end-file 0 error loading failed",
        ])
    }

    @Test func `An item that is only added does not begin, and one that repeats begins again`() {
      #expect(told([.item(items[0])]).isEmpty)
      #expect(
        told([
          .item(items[0]), .status(.loading), .status(.playing), .finished(items[0]),
          .report(items[0], report), .status(.loading), .started(items[0], after: .zero),
        ]) == [
          "start-file 0", "end-file 0 eof", "start-file 0", "file-loaded", "playback-restart",
        ])
    }

    @Test func `At the end of the program, the item ends by that`() {
      #expect(
        told(
          [.status(.playing), .item(items[0]), .report(items[0], report), .status(.idle)],
          isQuitting: true) == ["start-file 0", "end-file 0 quit"])
    }
  }
#endif
