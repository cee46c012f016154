// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain

struct PathCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "path",
    abstract: "Print the file of a URL that is stored whole.",
    discussion: """
      It is an ordinary media file, which any program can open. It is the cache's: read it, copy \
      it, do not change it. While bytes are missing the command fails; 'refrain get' fetches them.

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
      guard let cache else { throw MediaCacheError.nothingStored(of: url) }
      let key = cache.key(for: options.resource(url))
      guard let file = try await cache.completeFile(for: key) else {
        guard let entry = try await cache.entry(for: key).map({ EntryReport($0) }) else {
          throw MediaCacheError.nothingStored(of: url)
        }
        throw MediaCacheError(
          .notFound,
          "\(url.withoutUserInfo.absoluteString) is not stored whole (\(entry.percent)).",
          remedy: "'refrain get \(url.withoutUserInfo.absoluteString)' fetches what is missing.")
      }
      let path = file.path(percentEncoded: false)
      try Console.shared.print(
        options.json
          ? JSONText.line(["url": url.withoutUserInfo.absoluteString, "path": path]) : path)
    }
  }
}
