// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainCLI

struct ByteSizeTests {
  @Test(
    arguments: [
      ("0", 0), ("4096", 4096), ("731b", 731),
      ("1K", 1 << 10), ("500M", 500 << 20), ("10G", 10 << 30), ("1T", 1 << 40),
      ("2GiB", 2 << 30), ("2gib", 2 << 30), ("64 KiB", 64 << 10),
      ("700MB", 700_000_000), ("1kb", 1000), ("1.5G", 3 << 29), ("0.5K", 512),
    ] as [(String, Int64)])
  func `A byte size is parsed`(_ text: String, _ bytes: Int64) throws {
    #expect(try ByteSize.parse(text) == bytes)
  }

  @Test(arguments: [
    "", "M", "-1", "1.2.3", "1e9", "10Q", "10 G B", "5GGiB", "１0M", "nan", "0x10", ".", ".5G",
    "99999999T", "1G\n",
  ])
  func `An invalid byte size is refused`(_ text: String) {
    #expect(throws: InvalidArgument.self) { try ByteSize.parse(text) }
  }

  @Test func `The error for an unknown unit names the unit`() {
    let error = #expect(throws: InvalidArgument.self) { try ByteSize.parse("5Q") }
    #expect(error?.description.contains("'Q'") == true)
  }

  @Test func `A limit is a size, or 'none' for unlimited`() throws {
    #expect(try ByteLimit(parsing: "none").bytes == nil)
    #expect(try ByteLimit(parsing: "NONE").bytes == nil)
    #expect(try ByteLimit(parsing: "500M").bytes == 500 << 20)
  }

  @Test func `A limit of zero is refused, and the error suggests 'none'`() {
    let error = #expect(throws: InvalidArgument.self) { try ByteLimit(parsing: "0") }
    #expect(error?.description.contains("'none'") == true)
  }

  @Test(
    arguments: [
      (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"),
      (1_048_575, "1.0 MiB"), (12_900_000, "12.3 MiB"), (10 << 30, "10.0 GiB"),
      (Int64.max, "8192.0 PiB"),
    ] as [(Int64, String)])
  func `A byte size is formatted`(_ bytes: Int64, _ text: String) {
    #expect(ByteSize.text(bytes) == text)
  }
}
