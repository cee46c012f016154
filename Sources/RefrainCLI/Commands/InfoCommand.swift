// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain

struct InfoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "info",
    abstract: "Show what is stored for a URL.",
    discussion: """
      Makes no request. In JSON, 'spans' lists the stored ranges as pairs of the first offset \
      and the offset after the last.

      Examples:
        refrain info https://example.org/song.flac
        refrain info --json https://example.org/song.flac | jq .cachedBytes
      """)

  @Argument(help: "The URL as it was played or fetched.", transform: URL.argument)
  var url: URL

  @OptionGroup
  var options: GlobalOptions

  func run() async throws {
    let (url, options) = (url, options)
    try await withExistingCache(options) { cache in
      guard let cache,
        let summary = try await cache.entry(for: cache.key(for: options.resource(url)))
      else { throw ProgramError.nothingStored(of: url) }
      let entry = EntryReport(summary)
      if options.json { return try Console.shared.print(JSONText.line(entry)) }
      for line in Self.lines(entry, style: Console.shared.barStyle) {
        try Console.shared.print(line)
      }
    }
  }

  static func lines(_ entry: EntryReport, style: BarStyle) -> [String] {
    let length = entry.length.map { " of \(ByteSize.text($0))" } ?? ", the length is unknown"
    var facts = [
      ("url", entry.url),
      ("stored", "\(ByteSize.text(entry.cachedBytes))\(length) (\(entry.percent))"),
      ("on disk", ByteSize.text(entry.allocatedBytes) + (entry.isPinned ? ", pinned" : "")),
      ("type", entry.mimeType ?? "unknown"),
      ("validator", entry.validator ?? "none"),
      ("last used", DateText.minute(entry.lastAccess) + (entry.isInUse ? ", in use now" : "")),
      ("file", entry.file),
    ]
    if entry.key != entry.url { facts.insert(("key", entry.key), at: 1) }
    if !entry.isComplete, let map = entry.map(width: 48, style: style) {
      facts.append(("map", map))
    }
    return facts.map { name, value in
      name + String(repeating: " ", count: max(1, 11 - name.count)) + printable(value)
    }
  }
}
