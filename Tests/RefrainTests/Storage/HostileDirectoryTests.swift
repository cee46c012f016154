// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Arbitrary files in the directory: no crash, no wrong byte, a warning, and playback continues.
@Suite(.timeLimit(.minutes(1)))
struct HostileDirectoryTests {
  private let length: Int64 = 700_001

  /// Stores the resource whole, damages the stored files, and plays it in a new cache.
  ///
  /// - Returns: the new cache's warnings, and the bytes it fetched.
  private func play(
    stored range: ByteRange? = nil, _ spoil: (EntryDirectory, _ dataFile: String) throws -> Void,
    sourceLocation: SourceLocation = #_sourceLocation,
    then check: (EntryDirectory) throws -> Void = { _ in }
  ) async throws -> (warnings: [String], fetched: RangeSet<Int64>) {
    let directory = CacheDirectory(length: length)
    try await directory.withCache { try await $0.prefetch(directory.url(), range: range) }
    let stored = try directory.stored()
    try spoil(stored.directory, directory.dataFile())

    let origin = directory.transport()
    let second = try directory.cache(transport: origin)
    let events = second.events()
    _ = try await second.entries()
    let reader = try await second.open(directory.url())
    // Backwards: writes go past the end of the file.
    for start in stride(from: (length - 1) / 100_000 * 100_000, through: 0, by: -100_000) {
      try await directory.expectToPlay(
        start..<min(start + 100_000, length), from: reader, sourceLocation: sourceLocation)
    }
    reader.cancel()
    if let file = try await second.completeFile(for: directory.url()) {
      let all = try Data(contentsOf: file)
      #expect(
        [UInt8](all) == directory.bytes.bytes(in: 0..<length), sourceLocation: sourceLocation)
    }
    await second.close()
    try check(stored.directory)
    #expect(try directory.isRight(), sourceLocation: sourceLocation)
    return (await warnings(events), origin.received)
  }

  private func write(_ text: some StringProtocol, to path: String) throws {
    try Data(text.utf8).write(to: URL(filePath: path))
  }

  private func replace(_ directory: EntryDirectory, _ old: String, _ new: String) throws {
    let text = try String(contentsOfFile: directory.recordPath, encoding: .utf8)
    #expect(text.contains(old))
    try write(text.replacingOccurrences(of: old, with: new), to: directory.recordPath)
  }

  // MARK: Sidecars

  @Test(arguments: [
    "", "{", "null", "[]", "{\"version\":1}", "{\"version\":3,\"whatever\":true}",
    "{\"version\":0}", "{\"version\":\"1\"}", "{\"version\":1e99}",
    "{\"version\":-9223372036854775808}", "\u{0}\u{0}\u{0}",
    String(repeating: "[", count: 100_000), String(repeating: "x", count: 1 << 20),
  ])
  func `A malformed sidecar is replaced`(_ text: String) async throws {
    let result = try await play { directory, _ in try write(text, to: directory.recordPath) }
    #expect(!result.warnings.isEmpty)
    #expect(result.fetched == RangeSet(0..<length))
  }

  @Test func `A truncated sidecar is replaced`() async throws {
    for part in [1, 3, 10] {
      let result = try await play { directory, _ in
        let text = try String(contentsOfFile: directory.recordPath, encoding: .utf8)
        try write(text.prefix(text.count * part / 11), to: directory.recordPath)
      }
      #expect(!result.warnings.isEmpty)
    }
  }

  @Test(arguments: [
    ("\"length\":700001", "\"length\":-1"), ("\"length\":700001", "\"length\":5"),
    ("[0,700001]", "[700001,0]"), ("[0,700001]", "[0,700002]"), ("[0,700001]", "[0]"),
    ("[0,700001]", "[-5,700001]"), ("\"epoch\":", "\"epoch\":9223372036854775"),
    ("\"file\":\"", "\"file\":\"../"), ("\"file\":\"", "\"file\":\"/etc/"),
    ("\"generation\":\"", "\"generation\":\"../../"), (".wav\"", ".\\u0000wav\""),
  ])
  func `A sidecar with impossible values is replaced`(_ old: String, _ new: String) async throws {
    let result = try await play { directory, _ in try replace(directory, old, new) }
    #expect(!result.warnings.isEmpty)
  }

  @Test func `A sidecar with another key is not used`() async throws {
    let result = try await play { directory, _ in
      try replace(
        directory, "\"key\":\"http://origin.test/a.wav\"", "\"key\":\"http://origin.test/b\"")
    }
    #expect(result.fetched == RangeSet(0..<length))
    #expect(result.warnings.contains { $0.contains("another key") })
  }

  @Test
  func `A directory, pipe or link in place of a file does not prevent playback`() async throws {
    for name in ["sidecar", "data"] {
      for kind in ["directory", "pipe", "link", "loop"] {
        let result = try await play { directory, dataFile in
          let path = name == "sidecar" ? directory.recordPath : dataFile
          let content = try Data(contentsOf: URL(filePath: path))
          try FileManager.default.removeItem(atPath: path)
          switch kind {
          case "directory":
            try FileManager.default.createDirectory(
              atPath: path + "/inner", withIntermediateDirectories: true)
          case "pipe": #expect(mkfifo(path, 0o600) == 0)
          case "link":
            let target = directory.path + "/../target"
            try content.write(to: URL(filePath: target))
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
          default:
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
          }
        }
        #expect(!result.warnings.isEmpty, "\(name) \(kind)")
        #expect(result.fetched == RangeSet(0..<length), "\(name) \(kind)")
      }
    }
  }

  @Test func `A file in place of an entry directory does not prevent playback`() async throws {
    let result = try await play { directory, _ in
      try FileManager.default.removeItem(atPath: directory.path)
      try write("foreign", to: directory.path)
    }
    #expect(result.fetched == RangeSet(0..<length))
    #expect(!result.warnings.isEmpty)
  }

  // MARK: Data

  @Test func `The missing end of a truncated data file is fetched again`() async throws {
    for size in [0, 1, 4096, 300_000, 700_000] as [Int64] {
      let result = try await play { _, dataFile in #expect(truncate(dataFile, off_t(size)) == 0) }
      #expect(result.fetched == RangeSet(size..<length))
      #expect(!result.warnings.isEmpty)
    }
  }

  @Test func `A missing data file is fetched again`() async throws {
    let result = try await play { _, dataFile in
      try FileManager.default.removeItem(atPath: dataFile)
    }
    #expect(result.fetched == RangeSet(0..<length))
    #expect(!result.warnings.isEmpty)
  }

  /// Bytes written past the new end leave a hole before them, which reads as zeros.
  @Test func `A data file truncated during playback never returns zeros`() async throws {
    let directory = CacheDirectory(length: length)
    let cache = try directory.cache()
    let reader = try await cache.open(directory.url())
    _ = try await reader.bytes(in: 0..<length)
    #expect(try truncate(directory.dataFile(), 100_000) == 0)
    for range in [600_000..<650_000, 200_000..<700_001, 0..<700_001] as [ByteRange] {
      try await directory.expectToPlay(range, from: reader)
      #expect(try directory.isRight())
    }
    reader.cancel()
    await cache.close()
    #expect(try directory.isWhole())
  }

  #if os(Linux)
    @Test func `A file whose name cannot be spelled ends a removal with an error`() async throws {
      let directory = CacheDirectory(length: length)
      try await directory.withCache { try await $0.prefetch(directory.url()) }
      let path = try directory.stored().directory.path
      // Not UTF-8.
      let name = Array("\(path)/".utf8CString.dropLast()) + [CChar(bitPattern: 0xFF), 0]
      let descriptor = name.withUnsafeBufferPointer { name in
        name.baseAddress.map { open($0, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600) } ?? -1
      }
      #expect(descriptor >= 0)
      close(descriptor)
      let cache = try directory.cache(transport: directory.transport())
      let error = await #expect(throws: MediaCacheError.self) {
        _ = try await cache.remove(directory.url())
      }
      #expect(error?.code == .storage)
      await cache.close()
    }
  #endif

  @Test func `Files removed during playback do not interrupt it`() async throws {
    let directory = CacheDirectory(length: length)
    let cache = try directory.cache()
    let reader = try await cache.open(directory.url())
    _ = try await reader.bytes(in: 0..<100_000)
    try FileManager.default.removeItem(at: directory.url)
    try await directory.expectToPlay(from: reader)
    reader.cancel()
    await cache.close()
  }

  @Test func `Foreign files beside an entry and its journals are ignored`() async throws {
    let result = try await play(stored: 0..<300_000) { directory, _ in
      let id = try directory.loadRecord().record.generation
      for name in [
        "x", ".hidden", "entry.json.new", "\(id)-.spans", "\(id)-99999999999999999999.spans",
        "\(id)--4.spans", "\(id)-9223372036854775807.spans", "\(id)-\(Int64(1) << 52).spans",
      ] {
        try write("garbage", to: "\(directory.path)/\(name)")
      }
      // A journal that claims every possible byte.
      let moon =
        SpanJournal.header(bootIdentity: directory.bootIdentity)
        + SpanJournal.record(0..<Int64.max)
      try Data(moon).write(to: URL(filePath: "\(directory.path)/\(id)-7.spans.x"))
      try FileManager.default.createDirectory(
        atPath: "\(directory.path)/\(id)-12.spans", withIntermediateDirectories: true)
      for parent in ["", "/..", "/../..", "/../../.."] {
        try write("foreign", to: "\(directory.path)\(parent)/\(String(repeating: "f", count: 32))")
        try FileManager.default.createDirectory(
          atPath: "\(directory.path)\(parent)/\(String(repeating: "e", count: 32))",
          withIntermediateDirectories: true)
      }
      try write("foreign", to: "\(directory.path)/../../zz")
    }
    #expect(result.fetched == RangeSet(0..<length).subtracting(RangeSet(0..<300_000)))
  }

  @Test func `A journal is trusted only up to the size of the data file`() async throws {
    let result = try await play(stored: 0..<300_000) { directory, _ in
      let record = try directory.loadRecord().record
      let path = SpanJournal.fileName(generation: record.generation, epoch: record.epoch + 3)
      let moon =
        SpanJournal.header(bootIdentity: directory.bootIdentity)
        + SpanJournal.record(0..<Int64.max) + SpanJournal.record(400_000..<500_000)
      try Data(moon).write(to: URL(filePath: "\(directory.path)/\(path)"))
    }
    #expect(result.fetched == RangeSet(300_000..<length))
    #expect(!result.warnings.isEmpty)
  }

  // MARK: Fuzzing

  @Test func `A mutated record or journal never crashes or claims impossible spans`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("noMutationOfARecordOrAJournalCrashesOrClaimsWhatCannotBe: seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let record = EntryRecord(
      key: "http://h/a", url: "http://h/a", finalURL: "http://h/b", generation: "1f",
      file: "1f.wav",
      length: 1000, mimeType: "audio/wav", supportsRanges: true,
      validator: Validator(etag: "\"x\"", lastModified: nil, isStrongLastModified: false),
      freshness: Freshness(confirmedAt: Date(timeIntervalSince1970: 1), lifetime: 10),
      spans: [0..<10, 20..<500], epoch: 3)
    let sidecar = try record.encoded()
    #expect(try EntryRecord.decode(sidecar) == record)
    var journal = SpanJournal.header(bootIdentity: "boot")
    for index in 0..<20 as Range<Int64> {
      journal += SpanJournal.record(index * 10..<index * 10 + 5)
    }
    let claimed = SpanJournal.decode(journal, bootIdentity: "boot")
    for _ in 0..<3000 {
      let mutated = Self.mutate(sidecar, &random)
      if let read = try? EntryRecord.decode(mutated) {
        let spans = RangeSet(read.spans)
        #expect((spans.ranges.first?.lowerBound ?? 0) >= 0 && read.length ?? 0 >= 0)
        #expect((spans.ranges.last?.upperBound ?? 0) <= read.length ?? .max)
        #expect(EntryRecord.isPlainName(read.file) && EntryRecord.isPlainName(read.generation))
        _ = read.freshness.isFresh(at: Date())
      }
      let spans = SpanJournal.decode(Self.mutate(journal, &random), bootIdentity: "boot")
      #expect(spans.subtracting(claimed).isEmpty, "seed \(seed)")
    }
  }

  private static func mutate(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
      let index = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 1: bytes[index] = UInt8.random(in: 0...255, using: &random)
      case 2: bytes.removeLast(bytes.count - index)
      case 3: bytes.remove(at: index)
      case 4: bytes.insert(UInt8(ascii: "9"), at: index)
      default:
        let end = min(bytes.count, index + 40)
        bytes.insert(
          contentsOf: bytes[index..<end], at: Int.random(in: 0...bytes.count, using: &random))
      }
    }
    return bytes
  }
}
