// SPDX-License-Identifier: MIT
public import Foundation

extension MediaReader {
  /// The bytes of a resource in order, in chunks of bounded size as they arrive, none of them
  /// empty. Ends at the end of the range or of the resource.
  public struct Chunks: AsyncSequence, Sendable {
    public typealias Element = Data

    let reader: MediaReader
    let range: ByteRange
    let longest: Int

    /// The first chunk size; chunks from the network are smaller. Initially below the size from
    /// which malloc(3) maps fresh pages.
    static let size = 120 << 10
    /// While the requested bytes are available at once, each chunk is twice as long as the one
    /// before, up to this: a call costs some microseconds besides copying.
    static let longest = 960 << 10

    public func makeAsyncIterator() -> AsyncIterator {
      reader.setEnd(range.upperBound, readsOn: true)
      return AsyncIterator(
        reader: reader, range: range, longest: longest, offset: range.lowerBound)
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
      let reader: MediaReader
      let range: ByteRange
      let longest: Int
      var offset: Int64
      var size = Chunks.size

      public mutating func next() async throws -> Data? {
        guard offset < range.upperBound else { return nil }
        let (left, isHuge) = range.upperBound.subtractingReportingOverflow(offset)
        let capacity = isHuge || left > Int64(size) ? size : Int(left)
        // Not zeroed, unlike a `Data` created with a size.
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
        size = count < capacity ? Chunks.size : Swift.min(size * 2, longest)
        return Data(
          bytesNoCopy: base, count: count,
          deallocator: .custom { pointer, _ in pointer.deallocate() })
      }
    }
  }
}
