// SPDX-License-Identifier: MIT
import NIOCore
import NIOPosix
import Refrain

/// Sends parts of files: by sendfile(2), or through a buffer where that is not allowed.
extension ProxyConnection {
  /// The bytes of a response by a task that are counted at once.
  private static let counted: Int64 = 128 << 10
  /// The bytes of a hit that are, at least.
  private static let shortestRegion: Int64 = 4 << 20
  /// Each region costs memory while the client does not read.
  private static let mostRegions: Int64 = 64

  /// As `write(_:)`, for a part of a file.
  ///
  /// - Parameter accepted: receives each part that the socket has accepted.
  func write(
    _ file: EntryFile, _ range: ByteRange, _ accepted: @escaping (ByteRange) -> Void
  ) -> EventLoopFuture<Void>? {
    let count = range.upperBound - range.lowerBound
    guard let context, account(for: count) else { return nil }
    return framed(count, context) { promise in
      write(file, range, inPartsOf: Self.counted, context, promise, accepted)
    }
  }

  /// Writes a hit's part of a file as it is, without framing or accounting.
  func send(
    _ file: EntryFile, _ range: ByteRange, _ context: ChannelHandlerContext,
    _ promise: EventLoopPromise<Void>
  ) {
    guard setup.settings.sendsFiles else { return copy(file, range, promise) }
    let step = max(Self.shortestRegion, (range.upperBound - range.lowerBound) / Self.mostRegions)
    write(file, range, inPartsOf: step, context, promise) { [self] part in noteAccepted(part) }
  }

  /// - Parameter promise: succeeds with the last part.
  private func write(
    _ file: EntryFile, _ range: ByteRange, inPartsOf step: Int64,
    _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?,
    _ accepted: @escaping (ByteRange) -> Void
  ) {
    var offset = range.lowerBound
    while offset < range.upperBound {
      let part = offset..<min(range.upperBound, offset + step)
      offset = part.upperBound
      // The descriptor belongs to the cache.
      let handle = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: file.descriptor)
      let region = FileRegion(
        fileHandle: handle, readerIndex: Int(part.lowerBound), endIndex: Int(part.upperBound))
      let written = context.eventLoop.makePromise(of: Void.self)
      let isLast = part.upperBound == range.upperBound
      written.futureResult.assumeIsolated().whenComplete { result in
        withExtendedLifetime(file) { _ = try? handle.takeDescriptorOwnership() }
        if case .success = result { accepted(part) }
        if isLast { promise?.completeWith(result) }
      }
      context.write(wrapOutboundOut(.fileRegion(region)), promise: written)
    }
  }

  /// Reads a part of a file piece by piece, each one after the socket has accepted the last.
  private func copy(_ file: EntryFile, _ range: ByteRange, _ promise: EventLoopPromise<Void>) {
    guard !range.isEmpty else { return promise.succeed() }
    guard let context, !isClosing else { return promise.fail(ClientDisconnected()) }
    let end = min(range.upperBound, range.lowerBound + ResponseWriter.longestCopy)
    let bytes = ByteBuffer(file, range.lowerBound..<end)
    // Truncated by another program, or unreadable: the client must not take a part for the whole.
    guard bytes.readableBytes > 0 else { return promise.fail(FileEnded()) }
    let part = range.lowerBound..<range.lowerBound + Int64(bytes.readableBytes)
    let eventLoop = context.eventLoop.assumeIsolated()
    context.writeAndFlush(wrapOutboundOut(.byteBuffer(bytes))).assumeIsolated().whenComplete {
      [self] result in
      switch result {
      case .success:
        noteAccepted(part)
        // Through the loop: a socket that accepts everything at once would cause endless recursion.
        eventLoop.execute { self.copy(file, part.upperBound..<range.upperBound, promise) }
      case .failure(let error): promise.fail(error)
      }
    }
  }
}
