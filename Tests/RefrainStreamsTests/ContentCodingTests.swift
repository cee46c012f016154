// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

@testable import Refrain
@testable import RefrainStreams

@Suite(.timeLimit(.minutes(TestSeed.minutes(1)))) struct ContentCodingTests {
  private let plain = Data(EncodedPlaylists.plain)

  @Test(arguments: EncodedPlaylists.all.indices)
  func `An encoded body is decoded`(index: Int) throws {
    let (name, body) = EncodedPlaylists.all[index]
    let coding = try #require(ContentCoding(name))
    #expect(coding.isAvailable && !body.isEmpty)
    #expect(try coding.decode(Data(body), limit: plain.count) == plain)
  }

  @Test(arguments: ["identity", "zstd", "compress", "gzip, br", "gzip, gzip", ""])
  func `Other codings, and several at once, are not decoded`(name: String) {
    #expect(ContentCoding(name) == nil)
  }

  @Test(arguments: EncodedPlaylists.all.indices)
  func `A body that is cut anywhere is truncated`(index: Int) throws {
    let (name, body) = EncodedPlaylists.all[index]
    let coding = try #require(ContentCoding(name))
    for count in body.indices {
      #expect(throws: DocumentFault.truncated, "\(count) bytes") {
        try coding.decode(Data(body[..<count]), limit: 1 << 20)
      }
    }
  }

  @Test(arguments: EncodedPlaylists.all.indices)
  func `A body longer than the limit is refused`(index: Int) throws {
    let (name, body) = EncodedPlaylists.all[index]
    let coding = try #require(ContentCoding(name))
    #expect(throws: DocumentFault.tooLong) {
      try coding.decode(Data(body), limit: plain.count - 1)
    }
  }

  @Test(arguments: [ContentCoding.gzip, .deflate])
  func `A damaged body is an error or has the right bytes`(coding: ContentCoding) throws {
    let seed = TestSeed.next()
    var random = SeededGenerator(seed: seed)
    let body = coding == .gzip ? EncodedPlaylists.gzip : EncodedPlaylists.zlib
    var faults = 0
    for round in 0..<(TestSeed.isSoak ? 100_000 : 2000) {
      var damaged = Data(body)
      damaged[Int.random(in: 0..<body.count, using: &random)] ^= UInt8.random(
        in: 1...255, using: &random)
      do throws(DocumentFault) {
        let decoded = try coding.decode(damaged, limit: 1 << 20)
        #expect(decoded == plain, "seed \(seed), round \(round)")
      } catch {
        faults += 1
      }
    }
    #expect(faults > 1000, "seed \(seed)")
  }

  @Test func `Several gzip members are one body, and padding after them is ignored`() throws {
    let twice = Data(EncodedPlaylists.gzip + EncodedPlaylists.gzip)
    #expect(try ContentCoding.gzip.decode(twice + [0, 0, 0], limit: 1 << 20) == plain + plain)
    #expect(throws: DocumentFault.tooLong) {
      try ContentCoding.gzip.decode(twice, limit: 2 * plain.count - 1)
    }
    #expect(throws: DocumentFault.truncated) {
      try ContentCoding.gzip.decode(twice.dropLast(), limit: 1 << 20)
    }
    #expect(throws: DocumentFault.truncated) {
      try ContentCoding.gzip.decode(Data(EncodedPlaylists.gzip) + [0x1F], limit: 1 << 20)
    }
  }

  @Test func `The optional fields of a gzip header are skipped`() throws {
    var body = EncodedPlaylists.gzip
    // Flags: header checksum, extra field, name, comment.
    body[3] = 2 | 4 | 8 | 16
    body.insert(contentsOf: [3, 0, 1, 2, 3] + Array("a.m3u8\0note\0".utf8) + [230, 226], at: 10)
    #expect(try ContentCoding.gzip.decode(Data(body), limit: 1 << 20) == plain)
    // In the name: the header's checksum differs.
    body[15] ^= 1
    #expect(throws: DocumentFault.invalid) {
      try ContentCoding.gzip.decode(Data(body), limit: 1 << 20)
    }
    body[3] = 0x20
    #expect(throws: DocumentFault.invalid) {
      try ContentCoding.gzip.decode(Data(body), limit: 1 << 20)
    }
  }

  @Test(arguments: ContentCoding.allForTests)
  func `A body in no coding at all is an error`(coding: ContentCoding) {
    #expect(throws: DocumentFault.self) { try coding.decode(plain, limit: 1 << 20) }
    #expect(throws: DocumentFault.truncated) { try coding.decode(Data(), limit: 1 << 20) }
  }

  @Test func `A body of repeated bytes stops at the limit`() throws {
    let body = Data(EncodedPlaylists.zeros(1_000_000))
    #expect(body.count < 10_000)
    #expect(throws: DocumentFault.tooLong) {
      try ContentCoding.deflate.decode(body, limit: 1 << 18)
    }
    #expect(try ContentCoding.deflate.decode(body, limit: 1_100_000).allSatisfy { $0 == 0 })
  }

  @Test(arguments: [("gzip", 8), ("gzip", 4), ("deflate", 4)])
  func `A body whose checksum or length differs is an error`(name: String, fromEnd: Int) throws {
    let coding = try #require(ContentCoding(name))
    var damaged = Data(coding == .gzip ? EncodedPlaylists.gzip : EncodedPlaylists.zlib)
    damaged[damaged.count - fromEnd] ^= 1
    #expect(throws: DocumentFault.invalid) { try coding.decode(damaged, limit: 1 << 20) }
  }

  @Test func `A body that requires a preset dictionary is an error`() {
    let body = Data([0x78, 0xF9, 1, 2, 3, 4] + EncodedPlaylists.deflate)
    #expect(throws: DocumentFault.invalid) {
      try ContentCoding.deflate.decode(body, limit: 1 << 20)
    }
  }

  #if os(Linux)
    @Test func `A library that is missing or another one is no error`() {
      #expect(ZlibLibrary("libz.so.0") == nil && ZlibLibrary("libm.so.6") == nil)
      #expect(BrotliLibrary("libbrotlidec.so.0") == nil && BrotliLibrary("libm.so.6") == nil)
    }
  #endif
}

extension ContentCoding {
  fileprivate static let allForTests = [ContentCoding.gzip, .deflate, .brotli].filter(\.isAvailable)
}
