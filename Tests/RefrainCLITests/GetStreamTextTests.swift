// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainCLI
@testable import RefrainStreams

/// The options and the texts of `get` for streams. Pure.
struct GetStreamTextTests {
  @Test(arguments: [
    ("best", StreamChoice.Quality.best), ("WORST", .worst), ("720", .height(720)),
    ("720p", .height(720)), ("3M", .bitRate(3_000_000)), ("2.5m", .bitRate(2_500_000)),
    ("800k", .bitRate(800_000)),
  ])
  func `A quality is a word, a height or a bit rate`(
    _ text: String, _ quality: StreamChoice.Quality
  ) throws {
    #expect(try StreamArgument.quality(text) == quality)
  }

  @Test(arguments: ["", "good", "p", "-720", "720i", "7.5p", "0", "k", "1G", "3000000", "1e9"])
  func `Anything else is no quality`(_ text: String) {
    #expect(throws: InvalidArgument.self) { try StreamArgument.quality(text) }
  }

  @Test(arguments: [
    ("all", StreamChoice.Languages.all), ("default", .standard), ("de", .some(["de"])),
    ("de, en-US", .some(["de", "en-US"])),
  ])
  func `Languages are codes with commas, or a word`(
    _ text: String, _ languages: StreamChoice.Languages
  ) throws {
    #expect(try StreamArgument.languages(text, allowsNone: false) == languages)
  }

  @Test func `Only subtitles can be omitted`() throws {
    #expect(try StreamArgument.languages("none", allowsNone: true) == .none)
    #expect(try StreamArgument.languages("none", allowsNone: false) == .some(["none"]))
  }

  @Test(arguments: ["", "de,", "de en", "d\u{1B}e"])
  func `Anything else is no list of languages`(_ text: String) {
    #expect(throws: InvalidArgument.self) {
      try StreamArgument.languages(text, allowsNone: true)
    }
  }

  @Test func `Bit rates are written in kilobits or megabits`() {
    #expect(BitRateText.text(64_000) == "64 kbit/s")
    #expect(BitRateText.text(2_950_000) == "3.0 Mbit/s")
  }

  private static func line(_ stored: Double, isComplete: Bool = false) -> ProgressLine {
    var progress = StreamDownload.Progress()
    progress.storedSeconds = stored
    progress.totalSeconds = 2400
    progress.storedBytes = 150 << 20
    progress.isComplete = isComplete
    // Two playlists of 20 minutes.
    var line = ProgressLine(name: "film.m3u8", duration: 1200, progress)
    line.bytesPerSecond = 4_194_304
    line.timeLeft = .seconds(30)
    return line
  }

  @Test func `Progress shows time and bytes`() {
    #expect(
      Self.line(1464).bar(width: 100, style: .ascii)
        == "film.m3u8  [##################............]   61%  12:12 of 20:00  150.0 MiB"
        + "  4.0 MiB/s  0:30 left")
    #expect(Self.line(1464).plain == "film.m3u8: 61% of 20:00, 150.0 MiB")
  }

  @Test func `Progress reaches 100 percent when all is done, and not before`() {
    #expect(Self.line(2400).percent == 99)
    #expect(Self.line(2400, isComplete: true).percent == 100)
    #expect(Self.line(0, isComplete: true).plain == "film.m3u8: 100% of 20:00, 150.0 MiB")
  }

  @Test(arguments: [1, 10, 20, 40, 60, 80, 200])
  func `Progress fits into any width`(_ width: Int) {
    #expect(Self.line(1464).bar(width: width, style: .blocks).count <= width)
  }
}
