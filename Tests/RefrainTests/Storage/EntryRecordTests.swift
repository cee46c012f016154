// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

@Suite struct EntryRecordTests {
  private func record() -> EntryRecord {
    EntryRecord(
      key: "http://h/a", url: "http://h/a", finalURL: "http://h/b", generation: "abc",
      file: "abc.mp3", length: 9, mimeType: "audio/mpeg", supportsRanges: true,
      validator: Validator(etag: "\"a\""),
      freshness: Freshness(confirmedAt: Date(timeIntervalSince1970: 1_700_000_000), lifetime: 60),
      headers: ["X-A", "1", "Vary", "Accept"], variant: "0123", isSharable: true,
      invalidatedAt: Date(timeIntervalSince1970: 1_700_000_100), spans: [0, 5], epoch: 3)
  }

  @Test func `An encoded record decodes with its headers, variant and invalidation`() throws {
    let (read, spans) = try EntryRecord.decode(record().encoded())
    #expect(read == record())
    #expect(spans == RangeSet(0..<5))
    #expect(read.storedHeaders.fields.map(\.name) == ["X-A", "Vary"])
    #expect(read.storedHeaders["Vary"] == "Accept")
  }

  @Test func `An older record without headers, variant or invalidation is decoded`() throws {
    let data = Data(try record().encoded())
    var object = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
    for name in ["headers", "variant", "isSharable", "invalidatedAt"] { object[name] = nil }
    let old = try JSONSerialization.data(withJSONObject: object)
    let (read, _) = try EntryRecord.decode([UInt8](old))
    #expect(read.storedHeaders.isEmpty && read.variant == nil && read.invalidatedAt == nil)
    #expect(read.isSharable == nil && read.freshness == record().freshness)
  }

  @Test func `A header name without a value is ignored`() throws {
    var odd = record()
    odd.headers = ["X-A", "1", "X-B"]
    #expect(try EntryRecord.decode(odd.encoded()).0.storedHeaders.fields.count == 1)
    odd.headers = []
    #expect(try EntryRecord.decode(odd.encoded()).0.storedHeaders.isEmpty)
  }
}
