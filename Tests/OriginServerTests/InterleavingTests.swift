// SPDX-License-Identifier: MIT
import Testing

@testable import OriginServer

@Suite struct InterleavingTests {
  private let interleaving = Interleaving(
    interval: 10, blocks: [2: [65, 66], 3: [UInt8](repeating: 67, count: 17)])

  /// Returns the whole body, piece by piece.
  private func body(_ audio: [UInt8]) -> [UInt8] {
    var body: [UInt8] = []
    let length = interleaving.length(of: Int64(audio.count))
    while Int64(body.count) < length {
      switch interleaving.piece(at: Int64(body.count)) {
      case .audio(let range):
        body += audio[Int(range.lowerBound)..<min(Int(range.upperBound), audio.count)]
      case .block(let block): body += block
      }
    }
    return body
  }

  @Test func `Metadata blocks are interleaved with their length and padding`() {
    let audio = (0..<45).map { UInt8($0) }
    var expected = audio[..<10] + [0] + audio[10..<20] + [1, 65, 66]
    expected += [UInt8](repeating: 0, count: 14)
    expected += audio[20..<30] + [2]
    expected += [UInt8](repeating: 67, count: 17)
    expected += [UInt8](repeating: 0, count: 15)
    expected += audio[30..<40] + [0] + audio[40...]
    #expect(body(audio) == Array(expected))
  }

  @Test func `The piece at each offset is found independently`() {
    let audio = (0..<45).map { UInt8($0) }
    let whole = body(audio)
    for offset in whole.indices {
      switch interleaving.piece(at: Int64(offset)) {
      case .audio(let range): #expect(whole[offset] == UInt8(range.lowerBound))
      case .block(let block): #expect(whole[offset...].starts(with: block))
      }
    }
  }

  @Test func `An endless body stays endless with metadata`() {
    #expect(interleaving.length(of: .max) == .max)
    let far = Int64(1) << 61
    guard case .audio(let range) = interleaving.piece(at: far) else { return }
    #expect(range.lowerBound < far && range.upperBound > range.lowerBound)
  }
}
