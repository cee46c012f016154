// SPDX-License-Identifier: MIT
import TestSupport
import Testing

@testable import RefrainCLI

struct ControlBuffersTests {
  @Test func `Lines are the same however their bytes arrive`() {
    let seed = TestSeed.next()
    print("ControlBuffersTests: REFRAIN_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    for _ in 0..<200 {
      let lines: [[UInt8]] = (0..<Int.random(in: 0..<20, using: &random)).map { _ in
        (0..<Int.random(in: 0..<300, using: &random)).map { _ in
          UInt8.random(in: 0x20...0xFF, using: &random)
        }
      }
      var bytes = (lines.flatMap { $0 + [0x0A] } + [0x41, 0x42] as [UInt8])[...]
      var input = ControlInput()
      var found: [[UInt8]] = []
      while !bytes.isEmpty {
        let count = Int.random(in: 1...min(400, bytes.count), using: &random)
        input.append(bytes.prefix(count))
        bytes = bytes.dropFirst(count)
        while let line = input.next() { found.append(Array(line)) }
      }
      #expect(found == lines)
      #expect(!input.isTooLong)
    }
  }

  @Test func `A line without an end is too long at the limit`() {
    var input = ControlInput()
    let part = [UInt8](repeating: 0x41, count: 16 << 10)
    for _ in 0..<4 {
      input.append(part)
      #expect(input.next() == nil && !input.isTooLong)
    }
    input.append([0x41])
    #expect(input.next() == nil && input.isTooLong)
  }

  @Test func `A client that reads nothing keeps the latest replies and is cut off by events`() {
    var output = ControlOutput()
    var count = 0
    let line = String(repeating: "x", count: 999)
    while output.add(event: line, isRepeated: false) { count += 1 }
    #expect(count == ControlOutput.eventLimit / 1000)
    // What is repeated takes no room.
    let before = output.count
    #expect(output.add(event: line, isRepeated: true) && output.count == before)
  }

  @Test func `A long reply does not count as unread events`() {
    var output = ControlOutput()
    output.add(.string(String(repeating: "x", count: 3 << 20)))
    #expect(output.isSlow)
    let isSent = output.add(event: "{}", isRepeated: false)
    #expect(isSent)
    output.remove(output.count - 3)
    #expect(Array(output.unsent) == Array("{}\n".utf8) && !output.isSlow)
  }

  @Test func `All bytes are sent in order, however few at a time`() {
    var output = ControlOutput()
    var (expected, sent): ([UInt8], [UInt8]) = ([], [])
    for number in 0..<20_000 {
      output.add(ControlValue(number))
      expected += "\(number)\n".utf8
      let count = min(number % 9, output.count)
      sent += output.unsent.prefix(count)
      output.remove(count)
    }
    sent += output.unsent
    output.remove(output.count)
    #expect(sent == expected && output.count == 0)
  }
}
