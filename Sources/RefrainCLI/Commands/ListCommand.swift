// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain

struct ListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ls",
    abstract: "List what is stored, the most recently used first.",
    discussion: """
      STORED is the part of the resource that is there, SIZE what it takes on disk. The last line \
      tells the sum and the limit.

      Examples:
        refrain ls
        refrain ls --json | jq -r '.[] | select(.isComplete) | .file'
      """)

  @OptionGroup
  var options: GlobalOptions

  func run() async throws {
    let options = options
    try await withExistingCache(options) { cache in
      let entries = try await cache?.entries().map { EntryReport($0) } ?? []
      if options.json { return try Console.shared.print(JSONText.line(entries)) }
      let usage = try await cache?.usage()
      let table = entries.isEmpty ? nil : Self.table(entries)
      for line in table?.lines(width: Console.shared.outputWidth) ?? [] {
        try Console.shared.print(line)
      }
      try Console.shared.print(
        Self.summary(
          entries: usage?.entries ?? 0, bytes: usage?.allocatedBytes ?? 0,
          limit: options.limit.bytes))
    }
  }

  static func table(_ entries: [EntryReport]) -> Table {
    Table(
      columns: [
        .init(title: "STORED", alignment: .right), .init(title: "SIZE", alignment: .right),
        .init(title: "LAST USED"), .init(title: "TYPE"), .init(title: "URL"),
      ],
      rows: entries.map { entry in
        [
          entry.percent, ByteSize.text(entry.allocatedBytes), DateText.minute(entry.lastAccess),
          printable(entry.mimeType ?? "?"), printable(entry.url),
        ]
      })
  }

  static func summary(entries: Int, bytes: Int64, limit: Int64?) -> String {
    let count = "\(entries) \(entries == 1 ? "entry" : "entries")"
    let limit = limit.map { " of \(ByteSize.text($0))" } ?? ", no limit"
    return "\(count), \(ByteSize.text(bytes))\(limit)"
  }
}
