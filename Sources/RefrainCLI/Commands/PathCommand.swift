// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain

struct PathCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "path",
    abstract: "Print the path of the file of a fully stored URL.",
    discussion: """
      The file is an ordinary media file, which any program can open. It belongs to the cache: \
      read it, copy it, do not change it. The command fails if bytes are missing; 'refrain get' \
      fetches them.

      Examples:
        ffprobe "$(refrain path https://example.org/song.flac)"
        cp "$(refrain path https://example.org/song.flac)" ~/Music/
      """)

  @Argument(help: "The URL as it was played or fetched.", transform: URL.argument)
  var url: URL

  @OptionGroup
  var options: GlobalOptions

  func run() async throws {
    let (url, options) = (url, options)
    try await withExistingCache(options) { cache in
      guard let cache else { throw ProgramError.nothingStored(of: url) }
      let key = cache.key(for: options.resource(url))
      guard let file = try await cache.completeFile(for: key) else {
        guard let entry = try await cache.entry(for: key).map({ EntryReport($0) }) else {
          throw ProgramError.nothingStored(of: url)
        }
        throw ProgramError(
          "\(url.withoutUserInfo.absoluteString) is not fully stored (\(entry.percent)).",
          remedy: "'refrain get \(url.withoutUserInfo.absoluteString)' fetches the missing bytes.")
      }
      let path = file.path(percentEncoded: false)
      try Console.shared.print(
        options.json
          ? JSONText.line(["url": url.withoutUserInfo.absoluteString, "path": path]) : path)
    }
  }
}
