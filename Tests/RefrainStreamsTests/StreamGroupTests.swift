// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain
@testable import RefrainStreams

/// Entries with those of a stream as one item.
struct StreamGroupTests {
  private static let root = "http://h/main.m3u8"

  private func entry(_ key: String, in stream: String? = nil) -> EntrySummary {
    EntrySummary(
      key: CacheKey(rawValue: key), url: URL(string: key) ?? URL(filePath: "/"), length: 100,
      spans: RangeSet(0..<100), cachedBytes: 100, allocatedBytes: 200,
      lastAccess: Date(timeIntervalSince1970: 0), isComplete: true, isInUse: false,
      isPinned: false, file: URL(filePath: "/x"), group: stream.map { CacheKey(rawValue: $0) })
  }

  /// Describes items: `key` or `key+parts`.
  private func text(_ items: [StoredItem]) -> [String] {
    items.map { item in
      switch item {
      case .entry(let entry): entry.key.rawValue
      case .group(let stream): "\(stream.key)+\(stream.parts)"
      }
    }
  }

  @Test func `A manifest alone is an entry, and parts without their manifest are a stream`() {
    #expect(text(StoredItem.grouped([entry(Self.root)])) == [Self.root])
    #expect(text(StoredItem.grouped([entry(Self.root, in: Self.root)])) == [Self.root])
    let items = StoredItem.grouped([entry("http://h/1.ts", in: Self.root)])
    #expect(text(items) == ["\(Self.root)+1"])
    guard case .group(let stream)? = items.first else { return }
    #expect(stream.first == nil && stream.url?.absoluteString == Self.root)
  }

  @Test func `Another representation of the first manifest belongs to the stream`() {
    let items = StoredItem.grouped([
      entry("\(Self.root) vary:gzip"), entry("http://h/1.ts", in: Self.root),
    ])
    #expect(text(items) == ["\(Self.root)+1"])
    guard case .group(let stream)? = items.first else { return }
    #expect(stream.first?.key.rawValue == "\(Self.root) vary:gzip")
  }

  @Test func `A record with a stream is read back`() throws {
    var record = EntryRecord(
      key: "http://h/1.ts", url: "http://h/1.ts", finalURL: "http://h/1.ts", generation: "a",
      file: "a.ts", supportsRanges: true,
      validator: Validator(etag: "\"a\"", lastModified: nil, isStrongLastModified: false),
      freshness: Freshness(confirmedAt: Date(timeIntervalSince1970: 0), lifetime: 60), spans: [],
      epoch: 1)
    for stream in [nil, Self.root] {
      record.group = stream
      let bytes = try record.encoded()
      #expect(try EntryRecord.decode(bytes) == record)
      #expect(String(decoding: bytes, as: UTF8.self).contains("\"group\"") == (stream != nil))
    }
  }

  @Test(arguments: [
    ("chunk-$RepresentationID$-$Number%05d$.m4s", "chunk-1-00012.m4s", true),
    ("chunk-$RepresentationID$-$Number%05d$.m4s", "song.m4s", false),
    ("http://h/v/$Number$.m4s?x=1", "7.m4s", true), ("audio.mp4", "audio.mp4", true),
    ("audio.mp4", "song.mp4", false), ("seg-001.ts", "seg-412.ts", true),
    ("seg-001.ts", "seg-.ts", false), ("part$Time$", "part900", true), ("part$Time$", "p", false),
  ])
  func `A file belongs to the MPD that names it or its template`(
    _ reference: String, _ name: String, _ isPart: Bool
  ) throws {
    #expect(try #require(PartName(of: reference)).matches(name[...]) == isPart)
  }

  @Test(arguments: ["$Number$", "dir/", "", "?x"])
  func `A reference without a name of a file is none of a part`(_ reference: String) {
    #expect(PartName(of: reference) == nil)
  }

  private func parts(of playlist: String) throws -> StreamParts {
    let url = try #require(URL(string: "http://h/list.m3u8"))
    var rewriting = ManifestRewriting(
      url: url, clientTarget: "/h/list.m3u8", removesSteering: true, target: { _ in nil })
    let rewritten = try rewriting.rewrite(Array(playlist.utf8))
    return try #require(rewritten).parts
  }

  @Test func `The references of a playlist have their roles`() throws {
    let text = """
      #EXTM3U
      #EXT-X-KEY:METHOD=AES-128,URI="k.bin"
      #EXT-X-MAP:URI="i.mp4"
      #EXTINF:2,
      s.ts
      #EXT-X-RENDITION-REPORT:URI="other.m3u8"

      """
    let parts = try parts(of: text)
    let expected: [(String, StreamParts.Role)] = [
      ("k.bin", .key), ("i.mp4", .initialization), ("s.ts", .segment), ("other.m3u8", .other),
    ]
    #expect(parts.isStream && parts.roles.count == expected.count)
    for (name, role) in expected {
      #expect(parts.roles[StreamParts.hash("http://h/\(name)".utf8)] == role, "\(name)")
    }
  }

  @Test func `A list of songs is no stream`() throws {
    let list = "#EXTM3U\n#EXTINF:200,A song with #EXT-X- in its name\nsong.mp3\n"
    #expect(try !parts(of: list).isStream)
  }
}
