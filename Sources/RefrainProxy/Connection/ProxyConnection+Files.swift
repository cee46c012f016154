// SPDX-License-Identifier: MIT
import NIOCore
import NIOPosix
import Refrain

/// Sends parts of files: by sendfile(2), or through a buffer where that is not allowed.
extension ProxyConnection {
  /// The most bytes read from a file at a time.
  static let longestCopy: Int64 = 256 << 10

  /// The bytes of a response by a task that are counted at once.
  private static let counted: Int64 = 128 << 10

  /// As `write(_:)`, for a part of a file.
  ///
  /// - Parameter accepted: receives each part that the socket has accepted.
  func write(
    _ file: EntryFile, _ range: ByteRange, _ accepted: @escaping (ByteRange) -> Void
  ) -> EventLoopFuture<Void>? {
    let count = range.upperBound - range.lowerBound
    guard let context else { return nil }
    guard setup.configuration.sendsFiles else {
      let promise = context.eventLoop.makePromise(of: Void.self)
      var offset = range.lowerBound
      copy(file, range, promise) { [self] bytes in
        let part = offset..<offset + Int64(bytes.readableBytes)
        offset = part.upperBound
        let written = write(bytes)
        written?.assumeIsolated().whenSuccess { accepted(part) }
        return written
      }
      return promise.futureResult
    }
    guard account(for: count) else { return nil }
    return framed(count, context) { promise in
      var offset = range.lowerBound
      while offset < range.upperBound {
        let part = offset..<min(range.upperBound, offset + Self.counted)
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenSuccess { accepted(part) }
        if part.upperBound == range.upperBound { written.futureResult.cascade(to: promise) }
        write(file, part, context, written)
        offset = part.upperBound
      }
    }
  }

  /// The bytes written as one region, so that those before are counted if the client leaves.
  private static let shortestRegion: Int64 = 4 << 20
  /// Each region costs memory while the client does not read.
  private static let mostRegions: Int64 = 64

  /// Writes a hit's part of a file as it is, without framing or accounting.
  func send(
    _ file: EntryFile, _ range: ByteRange, _ context: ChannelHandlerContext,
    _ promise: EventLoopPromise<Void>
  ) {
    guard setup.configuration.sendsFiles else {
      return copy(file, range, promise) { [self] bytes in
        guard let context = self.context, !isClosing else { return nil }
        let written = context.writeAndFlush(wrapOutboundOut(.byteBuffer(bytes)))
        return counting(Int64(bytes.readableBytes), written)
      }
    }
    let step = max(Self.shortestRegion, (range.upperBound - range.lowerBound) / Self.mostRegions)
    var rest = range
    while rest.upperBound - rest.lowerBound > step {
      let end = rest.lowerBound + step
      let written = context.eventLoop.makePromise(of: Void.self)
      write(file, rest.lowerBound..<end, context, written)
      _ = counting(step, written.futureResult)
      rest = end..<rest.upperBound
    }
    write(file, rest, context, promise)
  }

  private func counting(
    _ count: Int64, _ written: EventLoopFuture<Void>
  ) -> EventLoopFuture<Void> {
    written.assumeIsolated().whenSuccess { [self] in noteAccepted(count) }
    return written
  }

  private func write(
    _ file: EntryFile, _ range: ByteRange, _ context: ChannelHandlerContext,
    _ promise: EventLoopPromise<Void>?
  ) {
    // The descriptor belongs to the cache.
    let handle = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: file.descriptor)
    let region = FileRegion(
      fileHandle: handle, readerIndex: Int(range.lowerBound), endIndex: Int(range.upperBound))
    let written = context.eventLoop.makePromise(of: Void.self)
    written.futureResult.assumeIsolated().whenComplete { _ in
      withExtendedLifetime(file) { _ = try? handle.takeDescriptorOwnership() }
    }
    written.futureResult.cascade(to: promise)
    context.write(wrapOutboundOut(.fileRegion(region)), promise: written)
  }

  /// Reads a part of a file piece by piece, each one after the socket has accepted the last.
  ///
  /// - Parameter write: returns nil if the client is gone.
  private func copy(
    _ file: EntryFile, _ range: ByteRange, _ promise: EventLoopPromise<Void>,
    _ write: @escaping (ByteBuffer) -> EventLoopFuture<Void>?
  ) {
    guard !range.isEmpty else { return promise.succeed() }
    guard let context else { return promise.fail(ClientDisconnected()) }
    let count = Int(min(range.upperBound - range.lowerBound, Self.longestCopy))
    var bytes = context.channel.allocator.buffer(capacity: count)
    bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { space in
      let space = UnsafeMutableRawBufferPointer(rebasing: space[..<count])
      return file.copy(into: space, at: range.lowerBound) ?? 0
    }
    // Truncated by another program, or unreadable: the client must not take a part for the whole.
    guard bytes.readableBytes > 0 else { return promise.fail(FileEnded()) }
    let rest = range.lowerBound + Int64(bytes.readableBytes)..<range.upperBound
    guard let written = write(bytes) else { return promise.fail(ClientDisconnected()) }
    let eventLoop = context.eventLoop.assumeIsolated()
    written.assumeIsolated().whenComplete { result in
      switch result {
      // Through the loop: a socket that accepts everything at once would cause endless recursion.
      case .success: eventLoop.execute { self.copy(file, rest, promise, write) }
      case .failure(let error): promise.fail(error)
      }
    }
  }
}

/// The error of a cache file that ends before its stored bytes do.
struct FileEnded: Error {}
