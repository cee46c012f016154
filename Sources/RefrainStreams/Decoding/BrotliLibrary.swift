// SPDX-License-Identifier: MIT
import Refrain

#if os(Linux)
  import Foundation

  /// The system's decoder of Brotli (RFC 7932). The libcurl of every distribution brings it along,
  /// so that it is nearly always in the process already; without it Brotli cannot be decoded.
  struct BrotliLibrary: Sendable {
    static let shared = BrotliLibrary("libbrotlidec.so.1")

    private typealias Create =
      @convention(c) (
        UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?
      ) -> UnsafeMutableRawPointer?
    private typealias Destroy = @convention(c) (UnsafeMutableRawPointer?) -> Void
    private typealias Decompress =
      @convention(c) (
        UnsafeMutableRawPointer?, UnsafeMutablePointer<Int>?,
        UnsafeMutablePointer<UnsafePointer<UInt8>?>?, UnsafeMutablePointer<Int>?,
        UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?, UnsafeMutablePointer<Int>?
      ) -> CInt

    // Their types are those of decode.h.
    private let create: Create
    private let destroy: Destroy
    private let decompress: Decompress

    /// - Returns: nil if there is no such library, or it lacks a function.
    init?(_ name: String) {
      guard let library = SystemLibrary(name),
        let create: Create = library.function("BrotliDecoderCreateInstance"),
        let destroy: Destroy = library.function("BrotliDecoderDestroyInstance"),
        let decompress: Decompress = library.function("BrotliDecoderDecompressStream")
      else { return nil }
      (self.create, self.destroy, self.decompress) = (create, destroy, decompress)
    }

    /// The results of BrotliDecoderDecompressStream.
    private static let (succeeded, needsInput, needsOutput): (CInt, CInt, CInt) = (1, 2, 3)

    /// Decodes a whole body, as `ContentCoding.decode`.
    func decode(_ body: [UInt8], limit: Int) throws(DocumentFault) -> Data {
      guard let decoder = create(nil, nil, nil) else { throw .invalid }
      defer { destroy(decoder) }
      var output = Data()
      var buffer = [UInt8](repeating: 0, count: 64 << 10)
      var taken = 0
      while true {
        let (result, consumed, produced) = step(decoder, body[taken...], into: &buffer)
        taken += consumed
        guard output.count + produced <= limit else { throw .tooLong }
        output += buffer[..<produced]
        switch result {
        case Self.succeeded: return output
        case Self.needsInput: throw .truncated
        case Self.needsOutput: continue
        default: throw .invalid
        }
      }
    }

    /// - Returns: the result, and the numbers of bytes taken and written.
    private func step(
      _ decoder: UnsafeMutableRawPointer, _ input: ArraySlice<UInt8>, into buffer: inout [UInt8]
    ) -> (CInt, consumed: Int, produced: Int) {
      input.withUnsafeBufferPointer { input in
        buffer.withUnsafeMutableBufferPointer { buffer in
          var (inputLeft, outputLeft) = (input.count, buffer.count)
          var next = input.baseAddress
          var target = buffer.baseAddress
          let result = decompress(decoder, &inputLeft, &next, &outputLeft, &target, nil)
          return (result, input.count - inputLeft, buffer.count - outputLeft)
        }
      }
    }
  }
#endif
