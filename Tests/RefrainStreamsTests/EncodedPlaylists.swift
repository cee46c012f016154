// SPDX-License-Identifier: MIT
import Foundation
import OriginServer

@testable import Refrain
@testable import RefrainStreams

/// A playlist, and the same compressed by zlib and by Brotli's own encoder.
enum EncodedPlaylists {
  static let plain: [UInt8] = {
    var text = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:4\n"
    for index in 0..<12 { text += "#EXTINF:4.0,\nsegment\(index).ts\n" }
    return Array((text + "#EXT-X-ENDLIST\n").utf8)
  }()

  static let gzip = bytes(
    """
    H4sIAAAAAAACA1N2jQjxNQ7lUgbSuhG6Ya5BwZ7+flbGMIEQxyB31xCX0CDHEJC4CVjc08/NykTPQIerODU9NzWvxECv\
    pBirhCEuCSNcEsa4JExwSZjikjDDJWGOS8ICl4QlTg/i9jrc78BQdPVz8fEMDuECADYRMRZuAQAA
    """)
  static let zlib = bytes(
    """
    eNpTdo0I8TUO5VIG0roRumGuQcGe/n5WxjCBEMcgd9cQl9AgxxCQuAlY3NPPzcpEz0CHqzg1PTc1r8RAr6QYq4QhLgkj\
    XBLGuCRMcEmY4pIwwyVhjkvCApeEJU4P4vY63O/AUHT1c/HxDA7hAgCk82ex
    """)
  static let deflate = bytes(
    """
    U3aNCPE1DuVSBtK6EbphrkHBnv5+VsYwgRDHIHfXEJfQIMcQkLgJWNzTz83KRM9Ah6s4NT03Na/EQK+kGKuEIS4JI1wS\
    xrgkTHBJmOKSMMMlYY5LwgKXhCVOD+L2OtzvwFB09XPx8QwO4QIA
    """)
  static let brotli = bytes(
    """
    G20BAGTZXF+pVJUGdy39R5jcPNarh94WWGKRBYGHLL0+kUxB1XtO6gJf8pK72o9umaMKrzPtTXWW157OLnTv5jpqyjF8\
    sXP6f5AgSYo0GbLkyFMYivnJRV5SzeXYHScA
    """)

  /// Each body that this platform decodes, with the name of its coding.
  static let all: [(name: String, body: [UInt8])] = {
    var all = [("gzip", gzip), ("X-GZIP", gzip), ("deflate", zlib), ("deflate", deflate)]
    #if os(Linux)
      all.append(("br", brotli))
    #endif
    return all
  }()

  private static func bytes(_ base64: String) -> [UInt8] {
    Array(Data(base64Encoded: base64) ?? Data())
  }

  /// Returns DEFLATE's form of `count` zeros, or a few more: one literal, then repetitions of 258
  /// bytes in fixed codes (RFC 1951 §3.2.6).
  static func zeros(_ count: Int) -> [UInt8] {
    var bits = "110" + "00110000"
    for _ in 0...(count / 258) { bits += "11000101" + "00000" }
    bits += "0000000"
    var out = [UInt8](repeating: 0, count: (bits.utf8.count + 7) / 8)
    for (index, bit) in bits.utf8.enumerated() where bit == UInt8(ascii: "1") {
      out[index / 8] |= 1 << UInt8(index % 8)
    }
    return out
  }

  /// Returns a resource as an object store serves it: encoded, with ranges of the encoded bytes.
  static func resource(
    _ body: [UInt8], coding: String, type: String = "application/vnd.apple.mpegurl",
    etag: String? = "\"1\"", control: String = "max-age=600", supportsRanges: Bool = true
  ) -> OriginResource {
    OriginResource(
      .bytes(body), contentType: type, etag: etag, supportsRanges: supportsRanges,
      headers: [
        Field("Content-Encoding", coding), Field("Cache-Control", control),
        Field("Repr-Digest", "sha-256=:AAAA:"),
      ])
  }
}
