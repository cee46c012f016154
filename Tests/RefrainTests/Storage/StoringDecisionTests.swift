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
  private static let later = Date(timeIntervalSince1970: 2000)

  private static func record(
    _ validator: Validator = strong, length: Int64? = 100, isOutdated: Bool = false
  ) -> StoringDecision.Found {
    .record(
      .init(
        generation: "a", length: length, validator: validator, confirmedAt: then,
        isOutdated: isOutdated))
  }

  private static func memory(
    _ generation: String? = nil, _ validator: Validator = strong, length: Int64? = 100,
    at answered: Date? = then, replacing: Set<String> = []
  ) -> StoringDecision.Memory {
    .init(
      generation: generation, length: length, validator: validator, answeredAt: answered,
      replaced: replacing)
  }

  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var found: StoringDecision.Found
    var memory: StoringDecision.Memory
    /// The decisions with the lock (`writer`) and without (`other`).
    var writer: StoringDecision
    var other: StoringDecision

    init(
      _ name: String, _ found: StoringDecision.Found, _ memory: StoringDecision.Memory,
      _ writer: StoringDecision, _ other: StoringDecision = .stream(.inUse)
    ) {
      testDescription = name
      self.found = found
      self.memory = memory
      self.writer = writer
      self.other = other
    }
  }

  private static let none = Validator()

  static let table: [Case] = [
    Case("nothing stored", .nothing, memory(), .start),
    Case("what was stored is gone", .nothing, memory("a"), .start),
    Case("a later version", .newer, memory(), .stream(.newerFormat), .stream(.newerFormat)),
    Case("the same files", record(), memory("a"), .resume, .catchUp),
    Case("the same files, weak", record(weak), memory("a", weak), .resume, .catchUp),
    Case("the same files, no validator", record(none), memory("a", none), .resume, .catchUp),
    Case("files replaced by another", record(), memory("b"), .stream(.otherVersion)),
    Case("the same strong validator", record(), memory(), .resume, .catchUp),
    Case("the same weak validator", record(weak), memory(nil, weak), .resume, .catchUp),
    Case("length not known here", record(), memory(length: nil), .resume, .catchUp),
    Case("length not known there", record(length: nil), memory(), .resume, .catchUp),
    Case(
      "nothing to compare", record(none), memory(nil, none, at: later), .stream(.otherVersion)),
    Case("one without validator", record(), memory(nil, none), .stream(.otherVersion)),
    Case("nothing to compare, outdated", record(none, isOutdated: true), memory(nil, none), .start),
    Case("different, asked later", record(), memory(nil, other, at: later), .start),
    Case("different, asked before", record(), memory(nil, other), .stream(.otherVersion)),
    Case("different, never asked", record(), memory(nil, other, at: nil), .stream(.otherVersion)),
    Case("different, outdated", record(isOutdated: true), memory(nil, other), .start),
    Case("other length, asked before", record(), memory(length: 99), .stream(.otherVersion)),
    Case("other length, asked later", record(), memory(length: 99, at: later), .start),
    Case("the one that it replaces", record(), memory(replacing: ["a"]), .start),
    Case("replaces yet another", record(), memory(replacing: ["b"]), .resume, .catchUp),
  ]

  @Test(arguments: table)
  func `The decision follows the table`(_ row: Case) {
    #expect(
      StoringDecision.decide(holdsLock: true, found: row.found, memory: row.memory) == row.writer)
    #expect(
      StoringDecision.decide(holdsLock: false, found: row.found, memory: row.memory) == row.other)
  }
}
