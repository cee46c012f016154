// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainCLI

struct PlayArgumentTests {
  @Test func `A web URL is kept as it is`() throws {
    let url = try PlayArgument.parse("https://h/a.flac")
    #expect(url.absoluteString == "https://h/a.flac")
  }

  @Test func `A path or a file URL names a file`() throws {
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
      #expect(PlayArgument.problem(with: url) == nil)
    }
    let problem = PlayArgument.problem(with: try PlayArgument.parse(folder.path()))
    #expect(problem?.reason.contains("is a folder") == true)
    let missing = PlayArgument.problem(with: try PlayArgument.parse("file:///no/such/file"))
    #expect(missing?.reason == "/no/such/file does not exist.")
  }

  @Test(arguments: ["ftp://h/a", "http://", ""])
  func `An argument that is neither a web URL nor a file is refused`(_ text: String) {
    #expect(throws: InvalidArgument.self) { _ = try PlayArgument.parse(text) }
  }

  @Test(arguments: [
    ("127.0.0.1:8801/a.mp3", "http://127.0.0.1:8801/a.mp3"),
    ("localhost:8801/a.mp3", "http://localhost:8801/a.mp3"),
    ("[::1]:8801/a.mp3", "http://[::1]:8801/a.mp3"),
    ("example.org/a.mp3", "https://example.org/a.mp3"),
    ("media.example.org:8080/a b.mp3", "http://media.example.org:8080/a b.mp3"),
  ])
  func `The error for a URL without a scheme suggests the full URL`(
    _ text: String, _ suggestion: String
  ) throws {
    for parse in [PlayArgument.parse, URLArgument.parse] {
      let error = try #require(throws: InvalidArgument.self) { _ = try parse(text) }
      #expect(error.description.contains("Did you mean \(suggestion)?"))
    }
  }

  @Test(arguments: ["song.flac", "Music/song.flac", "../a.b/song", "1:2:3", "a:b", "12:30/x"])
  func `Other text is not mistaken for a URL without a scheme`(_ text: String) {
    #expect(URLArgument.suggestion(for: text) == nil)
  }
}
