// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain

/// The fields that are stored with a response (RFC 9111 §3.1, §3.2).
@Suite struct StoredFieldsTests {
  private func merged(
    _ stored: HeaderFields, _ news: HeaderFields, isConfirmation: Bool = false
  ) -> [String] {
    StoredFields.merged(stored, with: news, isConfirmation: isConfirmation).fields.map {
      "\($0.name): \($0.value)"
    }
  }

  @Test func `Fields that concern only one message are not stored`() {
    let all: HeaderFields = [
      "Connection": "X-Hop, close", "X-Hop": "1", "Keep-Alive": "5", "Transfer-Encoding": "chunked",
      "Content-Length": "5", "Content-Range": "bytes 0-4/9", "Age": "7", "Set-Cookie": "a=b",
      "Proxy-Authenticate": "Basic", "Trailer": "X", "Upgrade": "h2c", "Via": "1.1 x",
      "Cache-Status": "x; hit", "Content-Type": "audio/mpeg", "ETag": "\"a\"", "x-note": "1",
    ]
    #expect(merged([:], all) == ["Content-Type: audio/mpeg", "ETag: \"a\"", "x-note: 1"])
  }

  @Test func `New fields replace all stored ones of the same name`() {
    let stored: HeaderFields = ["X-A": "1", "X-B": "2", "x-a": "3"]
    #expect(merged(stored, ["X-a": "4", "X-C": "5"]) == ["X-B: 2", "X-a: 4", "X-C: 5"])
  }

  @Test func `A confirmation updates Date but no field that describes the bytes`() {
    let stored: HeaderFields = ["Content-Type": "audio/mpeg", "Date": "old", "X-A": "1"]
    let news: HeaderFields = ["Content-Type": "text/html", "Content-Encoding": "gzip", "X-A": "2"]
    #expect(merged(stored, news, isConfirmation: true) == ["Content-Type: audio/mpeg", "X-A: 2"])
    #expect(merged(stored, ["Date": "new"], isConfirmation: true).last == "Date: new")
    #expect(merged(stored, [:]) == ["Content-Type: audio/mpeg", "Date: old", "X-A: 1"])
  }

  @Test func `Fields without room are left out, except Vary`() {
    let long = String(repeating: "a", count: 20_000)
    #expect(
      merged([:], ["X-Long": long, "X-A": "1", "Vary": long]) == ["X-A: 1", "Vary: \(long)"])
    var many = HeaderFields()
    for index in 0..<100 { many.append("X-\(index)", String(long.prefix(1000))) }
    many.append("Vary", "Accept")
    let kept = merged([:], many)
    #expect(kept.last == "Vary: Accept")
    #expect(kept.joined().utf8.count <= StoredFields.longest + 1000)
  }

  @Test func `A long Vary leaves room for the other fields`() {
    let name = "Vary"
    let names = (0..<4000).map { "X-Field-\($0)" }.joined(separator: ", ")
    let news: HeaderFields = ["Content-Type": "audio/mpeg", "Cache-Control": "max-age=60"]
    let expected = [
      "\(name): \(names)", "Content-Type: audio/mpeg", "Cache-Control: max-age=60",
    ]
    #expect(merged([name: names], news) == expected)
    var all: HeaderFields = [name: names]
    for field in news.fields { all.append(field.name, field.value) }
    #expect(merged([:], all) == expected)
  }
}

@Suite struct VariantTests {
  @Test(
    arguments: [
      ([:], []), (["Vary": ""], []), (["Vary": "*"], []), (["Vary": "Accept-Encoding"], []),
      (["Vary": "b, A ,, b"], ["a", "b"]), (["Vary": "Range, If-Range, X"], ["x"]),
      (["Vary": "Accept-Encoding, User-Agent"], ["user-agent"]),
    ] as [(HeaderFields, [String])])
  func `Variant names are the fields in Vary that the cache does not set`(
    _ fields: HeaderFields, _ names: [String]
  ) {
    #expect(Variant.names(in: fields) == names)
  }

  @Test func `Equal request fields give one variant that does not reveal them`() {
    let names = ["accept", "cookie"]
    let one = Variant.of(["Accept": " a ", "Cookie": "secret", "X": "1"], names: names)
    #expect(one == Variant.of(["cookie": "secret", "accept": "a", "X": "2"], names: names))
    #expect(one != Variant.of(["Accept": "a"], names: names))
    #expect(one != Variant.of(["Accept": "a", "Cookie": "Secret"], names: names))
    #expect(one?.contains("secret") == false)
    #expect(Variant.of(["Accept": "a"], names: []) == nil)
    // Two fields of one name form one list.
    let two = HeaderFields([("Accept", "a"), ("Accept", "b")])
    #expect(Variant.of(two, names: ["accept"]) == Variant.of(["Accept": "a, b"], names: ["accept"]))
  }
}
