// SPDX-License-Identifier: MIT
#if os(Linux)
  import Dispatch
  import CMPV
  import Refrain
  import Synchronization

  /// One opened `refrain://` stream: mpv's read, seek and size, answered by a `MediaReader`.
  ///
  /// mpv calls on threads of its own, which may block. One thread at a time reads and seeks; `cancel`
  /// comes from another at any moment and ends the read that waits, and every later one.
  final class MPVStream: Sendable {
    static let scheme = "refrain"

    private let playback: MPVPlayback
    private let position = Atomic<Int64>(0)
    private let state: Mutex<State>
    /// Ends the wait for a network.
    private let wake = DispatchSemaphore(value: 0)

    private struct State {
      var reader: MediaReader
      /// How often mpv has sought, and had by the time of the last seek that a listener asked for.
      var seeks = 0
      var seeksBefore = 0
      var isReading = false
      var isCancelled = false
    }

    init(of playback: MPVPlayback) throws {
      self.playback = playback
      state = Mutex(State(reader: try playback.openReader()))
      playback.opened(self)
    }

    /// As read(2): the number of bytes, 0 at the end, -1 on error.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int64 {
      guard !buffer.isEmpty else { return 0 }
      var patience = NetworkPatience()
      while true {
        let offset = position.load(ordering: .relaxed)
        let reader = state.withLock { state in
          state.isReading = true
          return state.reader
        }
        defer { state.withLock { $0.isReading = false } }
        do {
          let count = Int64(try reader.readBlocking(into: buffer, at: offset))
          if count == 0 { try Self.checkEnd(at: offset, of: reader) }
          position.store(offset + count, ordering: .relaxed)
          playback.absence = nil
          playback.succeed(in: offset..<(offset + count))
          return count
        } catch let error as MediaCacheError where playback.isHeard && patience.bears(error) {
          playback.absence = error
          guard waitForNetwork(patience.nextDelay(), reader) else {
            playback.absence = nil
            return -1
          }
        } catch {
          playback.absence = nil
          playback.fail(at: offset, error)
          return -1
        }
      }
    }

    /// An end before the length that the origin gave is no end.
    private static func checkEnd(at offset: Int64, of reader: MediaReader) throws {
      guard let length = try reader.contentInformationBlocking().length, offset < length else {
        return
      }
      throw MediaCacheError(
        .unreachable, "The stream ended at byte \(offset) of \(length).", remedy: "Try again.")
    }

    /// Returns whether the read is still wanted.
    private func waitForNetwork(_ delay: Duration, _ reader: MediaReader) -> Bool {
      _ = wake.wait(timeout: .now() + delay.inSeconds)
      return state.withLock { !$0.isCancelled && $0.reader === reader }
    }

    /// The new position. Seeking is only reading elsewhere: no byte is asked for yet. A live stream is
    /// read on in order: elsewhere are bytes that have gone by, or that come in hours.
    func seek(to offset: Int64) -> Int64 {
      guard offset >= 0 else { return Int64(MPV_ERROR_GENERIC.rawValue) }
      guard offset == position.load(ordering: .relaxed) || !playback.isLive else {
        return Int64(MPV_ERROR_UNSUPPORTED.rawValue)
      }
      position.store(offset, ordering: .relaxed)
      state.withLock { $0.seeks += 1 }
      return offset
    }

    /// The length in bytes, which waits for the origin's first answer.
    func size() -> Int64 {
      let reader = state.withLock { $0.reader }
      do {
        if let length = try reader.contentInformationBlocking().length { return length }
        return Int64(MPV_ERROR_UNSUPPORTED.rawValue)
      } catch {
        // Every byte is missing: the first stands for all.
        playback.fail(at: 0, error)
        return Int64(MPV_ERROR_GENERIC.rawValue)
      }
    }

    /// Whether mpv waits for bytes.
    var isReading: Bool { state.withLock { $0.isReading } }

    func cancel() {
      let reader = state.withLock { state in
        state.isCancelled = true
        return state.reader
      }
      reader.cancel()
      wake.signal()
    }

    /// A listener is about to seek.
    func expectSeek() { state.withLock { $0.seeksBefore = $0.seeks } }

    /// Ends a read that waits with an error; later ones go on as if nothing had been. For a seek that
    /// leads elsewhere while bytes do not come: mpv's thread that reads is the one that seeks. A read
    /// that has followed the seek already is what is wanted, and waits on.
    func interrupt() {
      let (reader, isReading) = state.withLock { state in
        (state.reader, state.isReading && !state.isCancelled && state.seeks == state.seeksBefore)
      }
      // Not settled on a version yet: then nothing was played that one could seek in.
      guard isReading, let fresh = try? reader.another(fill: playback.item.fill) else { return }
      let isReplaced = state.withLock { state in
        guard state.reader === reader, !state.isCancelled else { return false }
        state.reader = fresh
        return true
      }
      guard isReplaced else { return fresh.cancel() }
      playback.add(fresh)
      reader.cancel()
      wake.signal()
    }
  }

  extension MPVStream {
    /// The streams that are open, by number. libmpv is given the number, not a pointer: it may cancel
    /// a stream on one thread after it has closed it on another.
    private struct Open {
      var streams: [UInt: MPVStream] = [:]
      var lastNumber: UInt = 0
    }

    private static let open = Mutex(Open())

    /// Fills mpv's table for this stream, which stays until `close_fn`.
    func install(in info: UnsafeMutablePointer<mpv_stream_cb_info>) {
      let number = Self.open.withLock { open in
        open.lastNumber += 1
        open.streams[open.lastNumber] = self
        return open.lastNumber
      }
      info.pointee.cookie = UnsafeMutableRawPointer(bitPattern: number)
      info.pointee.read_fn = { cookie, bytes, count in
        guard let stream = MPVStream.from(cookie), let bytes else { return -1 }
        let buffer = UnsafeMutableRawBufferPointer(
          start: bytes, count: Int(clamping: count))
        return stream.read(into: buffer)
      }
      info.pointee.seek_fn = { cookie, offset in
        MPVStream.from(cookie)?.seek(to: offset) ?? Int64(MPV_ERROR_GENERIC.rawValue)
      }
      info.pointee.size_fn = { cookie in
        MPVStream.from(cookie)?.size() ?? Int64(MPV_ERROR_GENERIC.rawValue)
      }
      info.pointee.cancel_fn = { cookie in MPVStream.from(cookie)?.cancel() }
      info.pointee.close_fn = { cookie in
        let number = UInt(bitPattern: cookie)
        let stream = MPVStream.open.withLock { $0.streams.removeValue(forKey: number) }
        stream?.cancel()
      }
    }

    private static func from(_ cookie: UnsafeMutableRawPointer?) -> MPVStream? {
      open.withLock { $0.streams[UInt(bitPattern: cookie)] }
    }
  }
#endif
