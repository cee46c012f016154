// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain
import RefrainStreams

struct ListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ls",
    abstract: "List stored resources and streams, most recently used first.",
    discussion: """
      STORED is the stored part of the resource, SIZE its space on disk. If any entry is pinned, \
      PINNED marks those that are never removed to make room. The last line shows the total, the \
      limit, and the pinned part of the total.

      A stream is one row under the URL of its first playlist or manifest: STORED is the number of \
      its other playlists, segments and keys, and SIZE includes them. PINNED is 'yes' if all of it \
      is pinned, and 'partly' if only some of it is. --parts lists each file as a row of its own.

      In JSON, 'parts' is the number of a stream's parts, and 'isPartlyPinned' is true if some of \
      it is pinned, but not all. 'isComplete' of a stream is true if the stored playlists show that \
      a quality is stored as a whole, and nothing in part; 'storedSeconds' is the stored playing \
      time. Both are absent if they are unknown, as of a live stream. With --parts, 'stream' is \
      the key of the first playlist of the stream to which an entry belongs.

      Examples:
        refrain ls
        refrain ls --json | jq -r '.[] | select(.isComplete and .length) | .file'
        refrain ls --json | jq -r '.[] | select(.parts) | .url'
      """)

  @Flag(help: "List the parts of streams.")
  var parts = false

  @OptionGroup
  var options: GlobalOptions

  func run() async throws {
    let (options, parts) = (options, parts)
    try await withExistingCache(options) { cache in
      let listing = try await cache?.listing()
      let entries = listing?.entries ?? []
      let items =
        parts
        ? entries.map { EntryReport($0) } : StoredItem.grouped(entries).map { EntryReport($0) }
      if options.json {
        let rows = try await Self.withCompleteness(items, in: cache)
        return try Console.shared.print(JSONText.line(rows))
      }
      let table = items.isEmpty ? nil : Self.table(items)
      let summary = Self.summary(
        entries: listing?.usage.entries ?? 0, bytes: listing?.usage.allocatedBytes ?? 0,
        pinned: listing?.usage.pinnedBytes ?? 0, limit: options.limit.bytes)
      try Console.shared.print(
        lines: (table?.lines(width: Console.shared.outputWidth) ?? []) + [summary])
    }
  }

  /// Returns the rows with what the stored playlists of streams say about them.
  private static func withCompleteness(
    _ items: [EntryReport], in cache: MediaCache?
  ) async throws -> [EntryReport] {
    guard let cache else { return items }
    var rows = items
    for index in rows.indices where rows[index].parts != nil {
      let known = try await cache.completeness(ofStream: CacheKey(rawValue: rows[index].key))
      (rows[index].isComplete, rows[index].storedSeconds) = (known?.isComplete, known?.seconds)
    }
    return rows
  }

  static func table(_ items: [EntryReport]) -> Table {
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
      rows: items.map { item in
        [
          item.stored, size(item.allocatedBytes),
          minute((item.lastAccess.timeIntervalSince1970 / 60).rounded(.down)),
          printable(item.mimeType ?? "?"), printable(item.url),
        ]
      })
    let pins = items.map(\.pinned)
    guard pins.contains(where: { !$0.isEmpty }) else { return table }
    table.columns.insert(.init(title: "PINNED"), at: 3)
    for (row, pin) in pins.enumerated() { table.rows[row].insert(pin, at: 3) }
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
