// SPDX-License-Identifier: MIT
public import Foundation

extension MediaReader {
  /// Bytes of a resource in order, in chunks as they come: at least one byte each, bounded in size.
  /// It ends where the range or the resource does.
  public struct Chunks: AsyncSequence, Sendable {
    public typealias Element = Data

    let reader: MediaReader
    let range: ByteRange

    /// What comes from the network comes in smaller pieces. Below what malloc(3) asks the system for
    /// page by page, in the beginning.
    static let size = 120 << 10
    /// As long as all that is read is there, each chunk is twice as long as the one before, so that less
    /// time goes by between them.
    static let longest = 240 << 10

    public func makeAsyncIterator() -> AsyncIterator {
      reader.setEnd(range.upperBound, readsOn: true)
      return AsyncIterator(reader: reader, range: range, offset: range.lowerBound)
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
      let reader: MediaReader
      let range: ByteRange
      var offset: Int64
      var size = Chunks.size

      public mutating func next() async throws -> Data? {
        guard offset < range.upperBound else { return nil }
        let (left, isHuge) = range.upperBound.subtractingReportingOverflow(offset)
        let capacity = isHuge || left > Int64(size) ? size : Int(left)
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
        size = count < capacity ? Chunks.size : Swift.min(size * 2, Chunks.longest)
        return Data(
          bytesNoCopy: base, count: count,
          deallocator: .custom { pointer, _ in pointer.deallocate() })
      }
    }
  }
}
