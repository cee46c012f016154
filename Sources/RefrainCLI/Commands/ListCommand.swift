// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain

struct ListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ls",
    abstract: "List stored resources, most recently used first.",
    discussion: """
      STORED is the stored part of the resource, SIZE its space on disk. If any entry is pinned, \
      PINNED marks those that are never removed to make room. The last line shows the total, the \
      limit, and the pinned part of the total.

      Examples:
        refrain ls
        refrain ls --json | jq -r '.[] | select(.isComplete) | .file'
      """)

  @OptionGroup
  var options: GlobalOptions

  func run() async throws {
    let options = options
    try await withExistingCache(options) { cache in
      let listing = try await cache?.listing()
      let entries = listing?.entries.map { EntryReport($0) } ?? []
      if options.json { return try Console.shared.print(JSONText.line(entries)) }
      let table = entries.isEmpty ? nil : Self.table(entries)
      let summary = Self.summary(
        entries: listing?.usage.entries ?? 0, bytes: listing?.usage.allocatedBytes ?? 0,
        pinned: listing?.usage.pinnedBytes ?? 0, limit: options.limit.bytes)
      try Console.shared.print(
        lines: (table?.lines(width: Console.shared.outputWidth) ?? []) + [summary])
    }
  }

  static func table(_ entries: [EntryReport]) -> Table {
    // Many entries share a size and a minute of last use.
    let size = remembering(ByteSize.text)
    let minute = remembering { (minute: Double) in
      DateText.minute(Date(timeIntervalSince1970: minute * 60))
    }
    var table = Table(
      columns: [
        .init(title: "STORED", alignment: .right), .init(title: "SIZE", alignment: .right),
        .init(title: "LAST USED"), .init(title: "TYPE"), .init(title: "URL"),
      ],
      rows: entries.map { entry in
        [
          entry.percent, size(entry.allocatedBytes),
          minute((entry.lastAccess.timeIntervalSince1970 / 60).rounded(.down)),
          printable(entry.mimeType ?? "?"), printable(entry.url),
        ]
      })
    guard entries.contains(where: \.isPinned) else { return table }
    table.columns.insert(.init(title: "PINNED"), at: 3)
    for (row, entry) in entries.enumerated() {
      table.rows[row].insert(entry.isPinned ? "yes" : "", at: 3)
    }
    return table
  }

  /// Returns `text` with its results cached by value.
  private static func remembering<Value: Hashable>(
    _ text: @escaping (Value) -> String
  ) -> (Value) -> String {
    var known: [Value: String] = [:]
    return { value in
      if let text = known[value] { return text }
      let new = text(value)
      known[value] = new
      return new
    }
  }

  static func summary(
    entries: Int, bytes: Int64, pinned: Int64 = 0, limit: Int64?
  ) -> String {
    let count = "\(entries) \(entries == 1 ? "entry" : "entries")"
    let limit = limit.map { " of \(ByteSize.text($0))" } ?? ", no limit"
    let pins = pinned > 0 ? ", \(ByteSize.text(pinned)) pinned" : ""
    return "\(count), \(ByteSize.text(bytes))\(limit)\(pins)"
  }
}
