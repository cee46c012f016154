// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import RefrainPlayer
  import Testing

  @testable import RefrainCLI

  /// Lists on standard input, as `find` writes them.
  struct PlainListTests {
    @Test func `A line is the exact name of a file`() throws {
      let names = [
        " leading and trailing ", "#1.mp3", "50%20.mp3", "a?b#c.mp3", "Act:One.mp3", "-",
        #"back\slash.mp3"#, "Ä.mp3",
      ]
      let list = try PlainList(Data(names.map { "/m/\($0)" }.joined(separator: "\n").utf8))
      #expect(list.entries.map { $0.url.path(percentEncoded: false) } == names.map { "/m/\($0)" })
      #expect(list.entries.allSatisfy(\.url.isFileURL) && list.skipped.isEmpty)
      let relative = try PlainList(Data("#1.mp3\r\n\r\n-\n".utf8))
      #expect(relative.entries.map(\.url.lastPathComponent) == ["#1.mp3", "-"])
    }

    @Test func `Only a line with a scheme and slashes is a URL`() throws {
      let list = try PlainList(
        Data("https://a.example/x%20y?z\nftp://h/x\nfile:///m/%25.mp3\n".utf8))
      #expect(
        list.entries.map(\.url.absoluteString) == [
          "https://a.example/x%20y?z", "file:///m/%25.mp3",
        ])
      #expect(list.skipped.count == 1 && list.skipped[0].hasPrefix("Line 2: “ftp://h/x”: "))
    }

    @Test func `Bytes that are no names are refused`() throws {
      let list = try PlainList(Data([0x61, 0x0A, 0xFF, 0xFE, 0x0A]))
      #expect(list.entries.count == 1 && list.skipped == ["Line 2: The name is not in UTF-8."])
      #expect(throws: MediaCacheError.self) { try PlainList(Data([0x61, 0, 0x62])) }
    }
  }
#endif
