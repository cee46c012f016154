// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Which playlists of a stream are recorded: those that a player uses, not all that it examines.
struct RecordingStateTests {
  private static let base = URL(filePath: "/")

  private func name(_ text: String) -> CacheKey { CacheKey(rawValue: text) }

  /// A version with the segments of these numbers, two seconds each.
  private func version(
    _ numbers: Range<Int>, _ segment: (Int) -> String = { "#EXTINF:2,\ns\($0).ts" }
  ) throws -> HLSMediaPlaylist {
    let head = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:\(numbers.lowerBound)\n"
    let text = head + numbers.map(segment).joined(separator: "\n")
    return try #require(HLSMediaPlaylist(Array(text.utf8), url: Self.base))
  }

  /// The player loads a playlist for the first time, and requests its newest segment.
  private func examine(
    _ text: String, _ version: HLSMediaPlaylist, in state: inout RecordingState
  ) {
    let isRecorded = state.take(version, of: name(text), at: 0) { self.name(text + $0) }
    #expect(isRecorded)
    let begun = state.noteRequest(for: name(text + (version.segments.last?.uri ?? "")))
    #expect(begun == [name(text)])
  }

  private func numbers(_ text: String, _ state: inout RecordingState) -> [Int64] {
    var numbers: [Int64] = []
    while let next = state.takeNext(of: name(text), keeping: 100) {
      numbers.append(next.number)
      state.noteStored(10, of: next.number, in: name(text))
    }
    return numbers
  }

  @Test func `A playlist that the player only examines is not recorded for long`() throws {
    var state = RecordingState()
    for text in ["a", "b"] { examine(text, try version(0..<5), in: &state) }
    // Nobody knows yet which of them plays.
    #expect(numbers("a", &state) == [2, 3, 4] && numbers("b", &state) == [2, 3, 4])
    // Then the player pauses for long.
    _ = state.noteReload(of: name("a"))
    for text in ["a", "b"] { state.note(try version(5..<12), of: name(text), at: 14) }
    #expect(numbers("a", &state) == Array(5..<12))
    #expect(numbers("b", &state) == [5, 6, 7])
    #expect(state.window == 0..<24)
  }

  @Test func `A playlist that is no longer requested is forgotten, with its share of the limit`()
    throws
  {
    var state = RecordingState()
    for text in ["a", "b"] { examine(text, try version(0..<5), in: &state) }
    _ = numbers("b", &state)
    var over: [CacheKey] = []
    for _ in 0..<10 where over.isEmpty { over = state.noteReload(of: name("a")) }
    #expect(over == [name("b")] && !state.isFollowed(name("b")))
    _ = numbers("a", &state)
    state.note(try version(5..<8), of: name("a"), at: 6)
    // Before what the player was given, nothing is stored.
    for number in 0..<2 as Range<Int64> { _ = state.drop(number, of: name("a")) }
    // Three segments of `b` took 30 bytes.
    let oldest = try #require(state.oldest(of: name("a"), keeping: 1000, limit: 59))
    #expect(oldest.number == 2 && !oldest.isDue)
  }

  @Test func `After a jump, the window stays that of what plays`() throws {
    var state = RecordingState()
    examine("a", try version(0..<5), in: &state)
    for first in stride(from: 1, to: 40, by: 2) {
      state.note(try version(first..<first + 5), of: name("a"), at: Double(2 * first))
      _ = state.noteReload(of: name("a"))
    }
    let window = try #require(state.window)
    #expect(window.lowerBound == 0 && window.upperBound > 80)
    // The player loads all playlists again, also one that was never recorded so far.
    state.begin(at: 10)
    _ = state.noteReload(of: name("a"))
    examine("b", try version(39..<44), in: &state)
    #expect(state.window == window && state.start == 10)
  }

  @Test func `A resource leaves with the last segment that needs it`() throws {
    var state = RecordingState()
    let slate = try version(0..<3) { "#EXTINF:2,\n#EXT-X-BYTERANGE:10@\($0 * 10)\nall.mp4" }
    examine("a", slate, in: &state)
    state.note(try version(3..<5), of: name("a"), at: 6)
    #expect(state.drop(0, of: name("a")) == [] && state.drop(1, of: name("a")) == [])
    #expect(state.drop(2, of: name("a")).map(\.uri) == ["all.mp4"])
    #expect(state.drop(2, of: name("a")) == [])
  }

  @Test func `A segment that could not be stored is tried again while the origin has it`() throws {
    var state = RecordingState()
    examine("a", try version(0..<5), in: &state)
    #expect(state.takeNext(of: name("a"), keeping: 100)?.number == 2)
    state.noteFailed(2, in: name("a"))
    #expect(numbers("a", &state) == [3, 4])
    let isListed = state.tryAgain(name("a"))
    #expect(isListed && numbers("a", &state) == [2])
    state.noteFailed(3, in: name("a"))
    state.note(try version(4..<7), of: name("a"), at: 4)
    let isGone = !state.tryAgain(name("a"))
    #expect(isGone && numbers("a", &state) == [5, 6])
  }

  @Test func `Segments that the origin does not have are not requested`() throws {
    var state = RecordingState()
    let gaps = try version(0..<6) { ($0 == 3 ? "#EXT-X-GAP\n" : "") + "#EXTINF:2,\ns\($0).ts" }
    examine("a", gaps, in: &state)
    #expect(numbers("a", &state) == [4, 5])
  }

  @Test func `A playlist ends that is refused for good, or stands still for long`() throws {
    func text(_ state: RecordingState) -> String {
      String(decoding: state.text(of: name("a")) ?? [], as: UTF8.self)
    }
    var state = RecordingState()
    examine("a", try version(0..<5), in: &state)
    for _ in 0..<2 { state.noteRefusal(of: name("a")) }
    // It was back.
    state.note(try version(1..<6), of: name("a"), at: 2)
    for _ in 0..<2 { state.noteRefusal(of: name("a")) }
    #expect(state.interval(of: name("a")) != nil && !text(state).contains("#EXT-X-ENDLIST"))
    state.noteRefusal(of: name("a"))
    #expect(state.interval(of: name("a")) == nil && text(state).contains("#EXT-X-ENDLIST"))

    state = RecordingState()
    examine("a", try version(0..<5), in: &state)
    var seconds = 0.0
    while let interval = state.interval(of: name("a")), seconds < 1000 {
      seconds += interval
      state.note(try version(0..<5), of: name("a"), at: seconds)
    }
    #expect((55...70).contains(seconds) && text(state).contains("#EXT-X-ENDLIST"))
  }

  @Test func `Playlists with numbers of their own are taken for simultaneous`() throws {
    var state = RecordingState()
    examine("video", try version(1000..<1015), in: &state)
    // Its packager was started again: number 1005 is now, not ten segments ago.
    examine("audio", try version(995..<1006), in: &state)
    #expect(state.window?.upperBound == 30)
    // One segment behind, with the same numbers.
    examine("text", try version(1010..<1014), in: &state)
    #expect(state.window?.upperBound == 28)
  }
}
