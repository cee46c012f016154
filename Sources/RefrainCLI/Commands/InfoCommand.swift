// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain
import RefrainStreams

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
      'isPartlyPinned' is true if some of it is pinned, but not all. 'isStreamComplete' is true if \
      the stored playlists show that a quality is stored as a whole, and nothing in part; \
      'streamStoredSeconds' is the stored playing time. Both are absent if they are unknown, as of \
      a live stream.

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
      let stream = try await cache.stream(summary.key)
      let completeness =
        try await stream == nil ? nil : cache.completeness(ofStream: summary.key)
      if options.json {
        let report = Report(entry: entry, stream: stream, completeness: completeness)
        return try Console.shared.print(JSONText.line(report))
      }
      let style = Console.shared.barStyle
      for line in Self.lines(entry, stream, completeness, style: style) {
        try Console.shared.print(line)
      }
    }
  }

  /// An entry and, if it is the first manifest of a stream, the whole stream.
  private struct Report: Encodable {
    private enum Name: CodingKey {
      case parts, streamCachedBytes, streamAllocatedBytes, isPartlyPinned
      case isStreamComplete, streamStoredSeconds
    }

    var entry: EntryReport
    var stream: GroupSummary?
    var completeness: StreamCompleteness?

    func encode(to encoder: any Encoder) throws {
      try entry.encode(to: encoder)
      guard let stream else { return }
      var members = encoder.container(keyedBy: Name.self)
      try members.encode(stream.parts, forKey: .parts)
      try members.encode(stream.cachedBytes, forKey: .streamCachedBytes)
      try members.encode(stream.allocatedBytes, forKey: .streamAllocatedBytes)
      try members.encode(stream.isPartlyPinned, forKey: .isPartlyPinned)
      try members.encodeIfPresent(completeness?.isComplete, forKey: .isStreamComplete)
      try members.encodeIfPresent(completeness?.seconds, forKey: .streamStoredSeconds)
    }
  }

  static func lines(
    _ entry: EntryReport, _ stream: GroupSummary?, _ completeness: StreamCompleteness?,
    style: BarStyle
  ) -> [String] {
    let length = entry.length.map { " of \(ByteSize.text($0))" } ?? ", the length is unknown"
    var facts = [
      ("url", entry.url),
      ("stored", "\(ByteSize.text(entry.cachedBytes))\(length) (\(entry.percent))"),
      ("on disk", ByteSize.text(entry.allocatedBytes) + (entry.isPinned ? ", pinned" : "")),
      ("type", entry.mimeType ?? "unknown"),
      ("validator", entry.validator ?? "none"),
      ("last used", DateText.minute(entry.lastAccess) + (entry.isInUse ? ", in use now" : "")),
      ("file", entry.file ?? "none"),
    ]
    if let stream {
      let count = EntryReport.partsText(stream.parts)
      let bytes = ByteSize.text(stream.allocatedBytes)
      let pins = stream.isPartlyPinned ? ", partly pinned" : ""
      let state = completeness?.isComplete == true ? ", complete" : ""
      facts.insert(("stream", "\(count), \(bytes) on disk in all\(state)\(pins)"), at: 3)
    } else if let stream = entry.stream {
      facts.insert(("part of", stream), at: 1)
    }
    if entry.key != entry.url { facts.insert(("key", entry.key), at: 1) }
    if entry.isComplete != true, let map = entry.map(width: 48, style: style) {
      facts.append(("map", map))
    }
    return facts.map { name, value in
      name + String(repeating: " ", count: max(1, 11 - name.count)) + printable(value)
    }
  }
}
