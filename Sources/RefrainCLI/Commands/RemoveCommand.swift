// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain

struct RemoveCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rm",
    abstract: "Remove stored URLs, or everything.",
    discussion: """
      Entries that another process is writing are not removed. Pinned ones are.

      Examples:
        refrain rm https://example.org/song.flac
        refrain rm --all
      """)

  @Argument(
    help: ArgumentHelp("The URLs as they were played or fetched.", valueName: "url"),
    transform: URL.argument)
  var urls: [URL] = []

  @Flag(help: "Remove everything.")
  var all = false

  @OptionGroup
  var options: GlobalOptions

  func validate() throws {
    guard urls.isEmpty == all else {
      throw ValidationError("Name the URLs to remove, or use --all.")
    }
  }

  func run() async throws {
    let (urls, options) = (urls, options)
    try await withExistingCache(options) { cache in
      if urls.isEmpty {
        let display = CountDisplay(verb: "Removed")
        let freed = try await cache?.removeAll { display.note($0) } ?? 0
        Console.shared.clear()
        return try Console.shared.print(
          options.json
            ? JSONText.line(["freedBytes": freed]) : "Freed \(ByteSize.text(freed)).")
      }
      var removed: [Removed] = []
      var missing: [URL] = []
      for url in urls {
        if let cache,
          let freed = try await cache.remove(cache.key(for: options.resource(url)))
        {
          removed.append(Removed(url: url.withoutUserInfo.absoluteString, freedBytes: freed))
        } else {
          missing.append(url)
        }
      }
      if options.json {
        try Console.shared.print(JSONText.line(removed))
      } else {
        for one in removed {
          try Console.shared.print("Freed \(ByteSize.text(one.freedBytes)) of \(one.url).")
        }
      }
      if let first = missing.first { throw ProgramError.nothingStored(of: first) }
    }
  }

  private struct Removed: Encodable {
    var url: String
    var freedBytes: Int64
  }
}
