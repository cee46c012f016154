// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain

@Suite struct HeaderFieldsTests {
  @Test func `Field names are case-insensitive and keep their case`() {
    var fields: HeaderFields = ["Content-TYPE": "a", "X": "1"]
    #expect(fields["content-type"] == "a")
    fields.append("x", "2")
    #expect(fields["X"] == "1, 2")
    #expect(fields.values(of: "x") == ["1", "2"])
    #expect(fields.fields.map(\.name) == ["Content-TYPE", "X", "x"])
    fields["x"] = "3"
    #expect(fields.values(of: "X") == ["3"])
    fields["X"] = nil
    #expect(fields["x"] == nil && !fields.isEmpty)
  }
}
