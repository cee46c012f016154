// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import RefrainCLI

struct PlayArgumentTests {
  @Test func aURLIsAURL() throws {
    let url = try PlayArgument.parse("https://h/a.flac")
    #expect(url.absoluteString == "https://h/a.flac")
  }

  @Test func anythingElseIsAFileThatIsThere() throws {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "refrain-argument-\(UUID().uuidString)", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "a song #1 100%.flac")
    try Data().write(to: file)
    let path = file.path(percentEncoded: false)
    for text in [path, file.absoluteString] {
      let url = try PlayArgument.parse(text)
      #expect(url.isFileURL)
      #expect(url.path(percentEncoded: false) == path)
    }
    #expect(throws: InvalidArgument.self) { _ = try PlayArgument.parse(folder.path()) }
  }

  @Test(arguments: ["song.flac", "ftp://h/a", "http://", "", "file:///no/such/file"])
  func whatIsNeitherIsRefused(_ text: String) {
    #expect(throws: InvalidArgument.self) { _ = try PlayArgument.parse(text) }
  }
}
