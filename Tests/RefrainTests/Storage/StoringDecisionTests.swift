// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// The decision table for a generation that is to be stored.
@Suite struct StoringDecisionTests {
  private static let strong = Validator(
    etag: "\"1\"", lastModified: nil, isStrongLastModified: false)
  private static let weak = Validator(
    etag: "W/\"1\"", lastModified: nil, isStrongLastModified: false)
  private static let other = Validator(
    etag: "\"2\"", lastModified: nil, isStrongLastModified: false)
  private static let then = Date(timeIntervalSince1970: 1000)

  private static func record(
    _ validator: Validator = strong, length: Int64? = 100, isOutdated: Bool = false
  ) -> EntryRecord {
    var freshness = Freshness(confirmedAt: then, lifetime: 60)
    if isOutdated { freshness.isOutdated = true }
    return EntryRecord(
      key: "k", url: "http://h/a", finalURL: "http://h/a", generation: "a", file: "a.mp3",
      length: length, supportsRanges: true, validator: validator, freshness: freshness, spans: [],
      epoch: 1)
  }

  /// Neither written nor read.
  private static let file = {
    let name = "refrain-\(UUID()).mp3"
    let path = FileManager.default.temporaryDirectory.appending(path: name).path
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try? EntryFile(path: path, mode: .create, disk: SystemDisk())
  }()

  private static func memory(
    _ generation: String? = nil, _ validator: Validator = strong, length: Int64? = 100,
    replacing: String? = nil
  ) -> GenerationState {
    var state = GenerationState(
      limits: FetchPlan(firstRequest: 1, maximumReadAhead: 1), isOffline: false)
    if let generation, let file { state.storage.begin(generation, in: file, nil) }
    state.storage.replaced = replacing
    state.representation.info = ContentInformation(
      length: length, mimeType: nil, supportsRanges: true, validator: nil,
      finalURL: URL(filePath: "/"))
    state.representation.validator = validator
    return state
  }

  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var record: EntryRecord?
    var memory: GenerationState
    var decision: StoringDecision

    init(
      _ name: String, _ record: EntryRecord?, _ memory: GenerationState,
      _ decision: StoringDecision
    ) {
      testDescription = name
      self.record = record
      self.memory = memory
      self.decision = decision
    }
  }

  private static let none = Validator()

  static let table: [Case] = [
    Case("nothing stored", nil, memory(), .start),
    Case("what was stored is gone", nil, memory("a"), .start),
    Case("the same files", record(), memory("a"), .resume),
    Case("the same files, weak", record(weak), memory("a", weak), .resume),
    Case("the same files, no validator", record(none), memory("a", none), .resume),
    Case("files replaced by another", record(), memory("b"), .stream),
    Case("the same strong validator", record(), memory(), .resume),
    Case("the same weak validator", record(weak), memory(nil, weak), .resume),
    Case("length not known here", record(), memory(length: nil), .resume),
    Case("length not known there", record(length: nil), memory(), .resume),
    Case("nothing to compare", record(none), memory(nil, none), .stream),
    Case("one without validator", record(), memory(nil, none), .stream),
    Case("nothing to compare, outdated", record(none, isOutdated: true), memory(nil, none), .start),
    Case("different", record(), memory(nil, other), .stream),
    Case("different, outdated", record(isOutdated: true), memory(nil, other), .start),
    Case("other length", record(), memory(length: 99), .stream),
    Case("other length, outdated", record(isOutdated: true), memory(length: 99), .start),
    Case("the one that it replaces", record(), memory(replacing: "a"), .start),
    Case("replaces yet another", record(), memory(replacing: "b"), .resume),
  ]

  @Test(arguments: table)
  func `The decision follows the table`(_ row: Case) {
    #expect(row.memory.storingDecision(for: row.record) == row.decision)
  }
}
