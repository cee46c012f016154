// SPDX-License-Identifier: MIT
#if os(Linux)
  import Refrain
  import RefrainPlayer

  /// The chapters of the item, which count from 0.
  extension ControlState {
    /// A seek to the start of a chapter may end a frame before it.
    private static let tolerance = Duration.milliseconds(100)
    /// A step back begins the current chapter again beyond this position in it, as mpv's
    /// `--chapter-seek-threshold` does.
    private static let backThreshold = Duration.seconds(5)

    var chapters: [Media.Chapter] {
      guard let media = player.item?.media else { return [] }
      return media.chapters.isEmpty ? loadedChapters : media.chapters
    }

    /// The index of the current chapter; -1 before the first one, nil if the item has none.
    var currentChapter: Int? {
      let chapters = chapters
      guard isOccupied, !chapters.isEmpty else { return nil }
      let position = player.position + Self.tolerance
      return (chapters.firstIndex { $0.start > position } ?? chapters.count) - 1
    }

    /// Seeks to the start of a chapter; -1 is the start of the item.
    func setChapter(_ value: ControlValue) throws(ControlRefusal) -> ControlDecision {
      guard let index = value.whole else {
        throw ControlRefusal(.propertyFormat, "chapter is a whole number.")
      }
      let chapters = chapters
      guard !chapters.isEmpty, isOccupied else {
        throw ControlRefusal(.propertyUnavailable, "This item has no chapters.")
      }
      guard (-1..<chapters.count).contains(index) else {
        throw ControlRefusal(
          .propertyError, "The item has \(chapters.count) chapters, which count from 0.")
      }
      let start = index < 0 ? Duration.zero : chapters[index].start
      return try decide(.seek(start / .seconds(1), .absolute))
    }

    /// Seeks some chapters forward, or back if negative. After the last one, the next item plays.
    func addChapters(_ number: Double) throws(ControlRefusal) -> ControlDecision {
      let chapters = chapters
      guard let current = currentChapter else {
        throw ControlRefusal(.commandFailed, "This item has no chapters.")
      }
      guard let step = Int(exactly: number), abs(step) < 1_000_000 else {
        throw ControlRefusal(.commandFailed, "A whole number of chapters can be added.")
      }
      var target = current + step
      if step < 0, current >= 0, player.position - chapters[current].start > Self.backThreshold {
        target += 1
      }
      guard target < chapters.count else { return try decide(.next(isForced: false)) }
      return try setChapter(ControlValue(max(-1, target)))
    }
  }
#endif
