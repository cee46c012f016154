// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The system's zlib, which decodes gzip (RFC 1952), its own format (RFC 1950) and DEFLATE alone
/// (RFC 1951), and verifies the checksums of the first two. On Linux libcurl depends on it.
struct ZlibLibrary: Sendable {
  #if canImport(Darwin)
    private static let name = "/usr/lib/libz.1.dylib"
  #else
    private static let name = "libz.so.1"
  #endif

  static let shared = ZlibLibrary(name)

  /// The form of a body. The values are inflateInit2's `windowBits`, with the largest window.
  enum Format: CInt {
    /// gzip or zlib, whichever the body's first bytes are.
    case wrapped = 47
    /// DEFLATE alone, without a checksum.
    case raw = -15
  }

  /// A z_stream by its address: inflate refuses one that has been moved.
  private typealias Stream = UnsafeMutableRawPointer
  private typealias Initialize =
    @convention(c) (Stream, CInt, UnsafePointer<CChar>, CInt) -> CInt
  private typealias Inflate = @convention(c) (Stream, CInt) -> CInt
  private typealias Operation = @convention(c) (Stream) -> CInt

  // Their types are those of zlib.h.
  private let initialize: Initialize
  private let inflate: Inflate
  private let reset: Operation
  private let end: Operation

  /// - Returns: nil if there is no such library, or it lacks a function.
  init?(_ name: String) {
    guard let library = SystemLibrary(name),
      let initialize: Initialize = library.function("inflateInit2_"),
      let inflate: Inflate = library.function("inflate"),
      let reset: Operation = library.function("inflateReset"),
      let end: Operation = library.function("inflateEnd")
    else { return nil }
    (self.initialize, self.inflate, self.reset, self.end) = (initialize, inflate, reset, end)
  }

  /// Results of zlib's functions.
  private static let (okay, streamEnd, bufferError): (CInt, CInt, CInt) = (0, 1, -5)

  /// Decodes a whole body, as `ContentCoding.decode`.
  ///
  /// All members of a gzip body are decoded. Bytes after the last one that begin no further member
  /// are ignored, as gzip(1) does: the members before are whole by their own checksums.
  func decode(
    _ body: [UInt8], _ format: Format, limit: Int
  ) throws(DocumentFault) -> Data {
    let stream = UnsafeMutablePointer<ZlibStream>.allocate(capacity: 1)
    stream.initialize(to: ZlibStream())
    defer { stream.deallocate() }
    // zlib accepts every release of its major version, and only the size of its own z_stream.
    let size = CInt(MemoryLayout<ZlibStream>.size)
    guard initialize(stream, format.rawValue, "1", size) == Self.okay else { throw .invalid }
    defer { _ = end(stream) }
    var output = Data()
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    var taken = 0
    while true {
      let (result, consumed, produced) = step(stream, body[taken...], into: &buffer)
      taken += consumed
      guard output.count + produced <= limit else { throw .tooLong }
      output += buffer[..<produced]
      switch result {
      case Self.okay: continue
      case Self.streamEnd:
        guard format == .wrapped, Self.beginsMember(body[taken...]) else { return output }
        guard reset(stream) == Self.okay else { throw .invalid }
      // Neither input nor output was possible: there is no input left.
      case Self.bufferError: throw .truncated
      default: throw .invalid
      }
    }
  }

  /// - Returns: the result, and the numbers of bytes taken and written.
  private func step(
    _ stream: UnsafeMutablePointer<ZlibStream>, _ input: ArraySlice<UInt8>,
    into buffer: inout [UInt8]
  ) -> (CInt, consumed: Int, produced: Int) {
    input.withUnsafeBufferPointer { input in
      buffer.withUnsafeMutableBufferPointer { buffer in
        let (inputCount, outputCount) = (CUnsignedInt(clamping: input.count), buffer.count)
        (stream.pointee.input, stream.pointee.inputLeft) = (input.baseAddress, inputCount)
        stream.pointee.output = buffer.baseAddress
        stream.pointee.outputLeft = CUnsignedInt(outputCount)
        // Z_NO_FLUSH.
        let result = inflate(stream, 0)
        let consumed = Int(inputCount - stream.pointee.inputLeft)
        return (result, consumed, outputCount - Int(stream.pointee.outputLeft))
      }
    }
  }

  /// Whether another gzip member begins with these bytes, or might if there were more of them.
  private static func beginsMember(_ rest: ArraySlice<UInt8>) -> Bool {
    !rest.isEmpty && ([0x1F, 0x8B] as [UInt8]).starts(with: rest.prefix(2))
  }
}

/// zlib's z_stream, field by field in the order and with the types of zlib.h, so that its layout is
/// that of C. Zeros are a stream without input that uses malloc(3).
private struct ZlibStream {
  var input: UnsafePointer<UInt8>?
  var inputLeft: CUnsignedInt = 0
  var inputTotal: CUnsignedLong = 0
  var output: UnsafeMutablePointer<UInt8>?
  var outputLeft: CUnsignedInt = 0
  var outputTotal: CUnsignedLong = 0
  var message: UnsafePointer<CChar>?
  var state: UnsafeMutableRawPointer?
  var allocate: UnsafeMutableRawPointer?
  var free: UnsafeMutableRawPointer?
  var opaque: UnsafeMutableRawPointer?
  var dataType: CInt = 0
  var checksum: CUnsignedLong = 0
  var reserved: CUnsignedLong = 0
}
