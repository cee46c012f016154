// SPDX-License-Identifier: MIT
import Foundation
import RefrainPlayer
import Refrain
import Testing

@testable import RefrainCLI

struct TableTests {
  private let table = Table(
    columns: [.init(title: "SIZE", alignment: .right), .init(title: "TYPE"), .init(title: "URL")],
    rows: [
      ["9 B", "audio/flac", "https://example.org/a"],
      ["12.3 MiB", "", "https://example.org/some/where/far/away/b.flac"],
    ])

  @Test func `Columns are aligned`() {
    #expect(
      table.lines() == [
        "    SIZE  TYPE        URL",
        "     9 B  audio/flac  https://example.org/a",
        "12.3 MiB              https://example.org/some/where/far/away/b.flac",
      ])
  }

  @Test func `The last column is shortened to the width`() {
    let lines = table.lines(width: 45)
    #expect(lines.allSatisfy { $0.count <= 45 })
    #expect(lines[2].hasSuffix("b.flac"))
    #expect(lines[2].contains("https://"))
  }

  @Test func `An empty table prints only its header`() {
    #expect(Table(columns: [.init(title: "A")]).lines() == ["A"])
  }
}

struct PrintableTests {
  @Test func `Characters that control a terminal are escaped`() {
    #expect(
      printable("a\u{1B}[2Jb\r\nc\u{202E}d\u{9B}e") == "a\\u{1b}[2Jb\\u{d}\\u{a}c\\u{202e}d\\u{9b}e"
    )
  }

  @Test func `Ordinary text is left unchanged`() {
    #expect(printable("Ünïcödé 👩‍👩‍👧 a b") == "Ünïcödé 👩‍👩‍👧 a b")
  }

  @Test func `Shortened text keeps both ends`() {
    #expect(shortened("abcdefghij", to: 10) == "abcdefghij")
    #expect(shortened("abcdefghij", to: 7) == "abc…hij")
    #expect(shortened("abcdefghij", to: 1) == "a")
    #expect(shortened("abcdefghij", to: 0) == "")
  }
}

struct DefaultDirectoryTests {
  private func path(_ environment: [String: String]) -> String {
    DefaultDirectory.find(in: environment).path(percentEncoded: false)
  }

  @Test func `The program's own variable takes precedence`() {
    #expect(path(["REFRAIN_CACHE": "/c", "XDG_CACHE_HOME": "/x", "HOME": "/h"]) == "/c/")
  }

  @Test func `An empty directory variable is ignored`() {
    #expect(path(["REFRAIN_CACHE": ""]) == MediaCache.defaultDirectory.path(percentEncoded: false))
  }
}

struct PlayTextTests {
  @Test func `A play report counts bytes from the origin and from disk`() {
    let report = PlayReport(
      url: "http://h/a", timeToFirstSound: 0.083, bytesFromOrigin: 5 << 19, bytesFromDisk: 0,
      requests: 1)
    #expect(
      report.text == "first sound after 83 ms, from the origin 2.5 MiB in 1 request, from disk 0 B")
  }

  @Test func `The report for a local file names no origin`() {
    let report = PlayReport(
      url: "file:///a", timeToFirstSound: 0.083, bytesFromOrigin: 0, bytesFromDisk: 0, requests: 0,
      isFile: true)
    #expect(report.text == "first sound after 83 ms, from a file")
  }

  @Test func `The report for a stream states no bytes, which are not counted`() throws {
    var report = PlayReport(
      url: "a", timeToFirstSound: 0.5, bytesFromOrigin: 0, bytesFromDisk: 0, requests: 0,
      isStream: true)
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    func json() throws -> String { String(decoding: try encoder.encode(report), as: UTF8.self) }
    #expect(try json() == #"{"timeToFirstSound":0.5,"url":"a"}"#)
    report.isStream = false
    #expect(try json().contains(#""bytesFromOrigin":0,"requests":0"#))
  }

  @Test func `The status line is shortened to the width`() {
    let status = PlayStatus(
      name: "a song with a long name.flac", position: .seconds(7), duration: .seconds(14))
    #expect(status.line(width: 80) == "0:07 / 0:14  a song with a long name.flac")
    #expect(status.line(width: 30).count <= 30)
    let wide = PlayStatus(name: String(repeating: "桜", count: 30))
    #expect(wide.line(width: 30).displayWidth <= 30)
    #expect(PlayStatus(name: "x").line(width: 80) == "0:00  x")
    let live = PlayStatus(name: "Radio", position: .seconds(75), duration: nil, isLive: true)
    #expect(live.line(width: 80) == "1:15 live  Radio")
    var rewound = live
    rewound.liveWindow = LiveWindow(start: .zero, end: .seconds(555))
    #expect(rewound.line(width: 80) == "1:15 -8:00 live  Radio")
    rewound.liveWindow = LiveWindow(start: .zero, end: .seconds(85))
    #expect(rewound.line(width: 80) == live.line(width: 80))
    rewound.hasLeftLive = true
    #expect(rewound.line(width: 80) == "1:15 -0:10 live  Radio")
  }

  @Test func `Output files after the first are numbered`() {
    let file = URL(filePath: "/tmp/heard.wav")
    #expect(numberedFile(file, 1) == file)
    #expect(numberedFile(file, 2).path() == "/tmp/heard-2.wav")
    #expect(numberedFile(URL(filePath: "/tmp/heard"), 3).path() == "/tmp/heard-3")
  }
}

struct LogLevelTests {
  @Test func `Failed fetches are logged below the level of warnings`() {
    let failed = CacheEvent.failed(CacheKey(rawValue: "k"), MediaCacheError(.status, "404."))
    #expect(failed.log.level > .warning)
    #expect(CacheEvent.warning("odd").log.level == .warning)
    #expect(LogLevel.error < .warning && LogLevel.warning < .info && LogLevel.info < .debug)
  }

  @Test func `A fetch to an unknown end is logged without one`() {
    let key = CacheKey(rawValue: "k")
    #expect(CacheEvent.fetchStarted(key, 0..<100).log.text == "fetching bytes 0-99 of k")
    #expect(CacheEvent.fetchStarted(key, 64..<Int64.max).log.text == "fetching bytes 64- of k")
    let ended = CacheEvent.fetchFinished(key, 64..<Int64.max, nil)
    #expect(ended.log.text == "ended fetching bytes 64- of k")
    let failed = CacheEvent.fetchFinished(key, 0..<100, MediaCacheError(.status, "404."))
    #expect(failed.log.text == "ended fetching bytes 0-99 of k: 404.")
  }
}
