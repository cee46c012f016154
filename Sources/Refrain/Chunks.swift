// SPDX-License-Identifier: MIT
public import Foundation

extension MediaReader {
  /// Bytes of a resource in order, in chunks as they come: at least one byte each, bounded in size.
  /// It ends where the range or the resource does.
  public struct Chunks: AsyncSequence, Sendable {
    public typealias Element = Data

    let reader: MediaReader
    let range: ByteRange

    /// Below what malloc(3) asks the system for page by page.
    static let size = 120 << 10

    public func makeAsyncIterator() -> AsyncIterator {
      reader.setEnd(range.upperBound, readsOn: true)
      return AsyncIterator(reader: reader, range: range, offset: range.lowerBound)
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
      let reader: MediaReader
      let range: ByteRange
      var offset: Int64

      public mutating func next() async throws -> Data? {
        guard offset < range.upperBound else { return nil }
        let (left, isHuge) = range.upperBound.subtractingReportingOverflow(offset)
        let capacity = isHuge || left > Int64(Chunks.size) ? Chunks.size : Int(left)
        // Not zeroed first, as a `Data` of a size would be.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
        let count: Int
        do {
          count = try await reader.read(into: buffer, at: offset)
        } catch {
          buffer.deallocate()
          throw error
        }
        guard count > 0, let base = buffer.baseAddress else {
          buffer.deallocate()
          return nil
        }
        offset += Int64(count)
        return Data(
          bytesNoCopy: base, count: count,
          deallocator: .custom { pointer, _ in pointer.deallocate() })
      }
    }
  }
}
