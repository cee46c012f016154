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

      For the first playlist or manifest of a stream, 'stream' shows the number of its stored \
      parts and the space of the whole stream on disk. In JSON, 'parts' is that number, \
      'streamCachedBytes' and 'streamAllocatedBytes' are the bytes of the whole stream, and \
      'isPartlyPinned' is true if some of it is pinned, but not all.

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
        let summary = try await cache.entry(for: cache.entryKey(for: options.resource(url)))
      else { throw ProgramError.nothingStored(of: url) }
      let entry = EntryReport(summary)
      let stream = try await cache.stream(summary.key)
      if options.json {
        return try Console.shared.print(JSONText.line(Report(entry: entry, stream: stream)))
      }
      for line in Self.lines(entry, stream, style: Console.shared.barStyle) {
        try Console.shared.print(line)
      }
    }
  }

  /// An entry and, if it is the first manifest of a stream, the whole stream.
  private struct Report: Encodable {
    private enum Name: CodingKey {
      case parts, streamCachedBytes, streamAllocatedBytes, isPartlyPinned
    }

    var entry: EntryReport
    var stream: StreamSummary?

    func encode(to encoder: any Encoder) throws {
      try entry.encode(to: encoder)
      guard let stream else { return }
      var members = encoder.container(keyedBy: Name.self)
      try members.encode(stream.parts, forKey: .parts)
      try members.encode(stream.cachedBytes, forKey: .streamCachedBytes)
      try members.encode(stream.allocatedBytes, forKey: .streamAllocatedBytes)
      try members.encode(stream.isPartlyPinned, forKey: .isPartlyPinned)
    }
  }

  static func lines(_ entry: EntryReport, _ stream: StreamSummary?, style: BarStyle) -> [String] {
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
    if let stream {
      let count = StoredStreamReport.partsText(stream.parts)
      let bytes = ByteSize.text(stream.allocatedBytes)
      let pins = stream.isPartlyPinned ? ", partly pinned" : ""
      facts.insert(("stream", "\(count), \(bytes) on disk in all\(pins)"), at: 3)
    } else if let stream = entry.stream {
      facts.insert(("part of", stream), at: 1)
    }
    if entry.key != entry.url { facts.insert(("key", entry.key), at: 1) }
    if !entry.isComplete, let map = entry.map(width: 48, style: style) {
      facts.append(("map", map))
    }
    return facts.map { name, value in
      name + String(repeating: " ", count: max(1, 11 - name.count)) + printable(value)
    }
  }
}
