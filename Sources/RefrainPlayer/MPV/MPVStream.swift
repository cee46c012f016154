// SPDX-License-Identifier: MIT
#if os(Linux)
  import Dispatch
  import CMPV
  import Refrain
  import RefrainLocks

  /// One open `refrain://` stream: serves mpv's read, seek and size calls from a `MediaReader`.
  ///
  /// mpv calls on threads of its own, which may block. One thread at a time reads and seeks;
  /// `cancel` may come from another at any time, and ends the waiting read and every later one.
  final class MPVStream: Sendable {
    static let scheme = "refrain"

    private let playback: MPVPlayback
    private let position = Atomic<Int64>(0)
    private let state: Mutex<State>
    /// Ends a wait for the network.
    private let wake = DispatchSemaphore(value: 0)

    private struct State {
      var reader: MediaReader
      var opening = MPVOpening()
      /// The position at which the reader begins: the bytes of earlier responses of a live stream.
      var start: Int64 = 0
      /// The number of mpv's seeks: in total, and at the last seek that a listener requested.
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

    /// Reads like read(2): returns the number of bytes, 0 at the end, -1 on error. Blocks.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int64 {
      guard !buffer.isEmpty else { return 0 }
      if playback.hasRefused(at: position.load(ordering: .relaxed)) { return -1 }
      var patience = NetworkPatience()
      while true {
        let offset = position.load(ordering: .relaxed)
        let (reader, start) = state.withLock { state in
          state.isReading = true
          return (state.reader, state.start)
        }
        defer { state.withLock { $0.isReading = false } }
        do {
          let count = Int64(try read(reader, into: buffer, at: offset - start))
          if count == 0 { try Self.checkEnd(at: offset - start, of: reader) }
          position.store(offset + count, ordering: .relaxed)
          playback.absence = nil
          playback.succeed(in: offset..<(offset + count))
          playback.noteTitle(of: reader, from: start, readTo: offset + count)
          return count
        } catch let error as MediaCacheError
          where (patience.bears(error) || error.code == .resourceChanged)
          && canJoinAgain(reader, from: start)
        {
          playback.absence = error
          guard waitForNetwork(patience.nextDelay(), reader), joinAgain(reader, at: offset) else {
            playback.absence = nil
            return -1
          }
        } catch let error as MediaCacheError
          where patience.bears(error)
          && (playback.isHeard || offset > 0 && patience.lastsBeforeSound)
        {
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

    private func read(
      _ reader: MediaReader, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws -> Int {
      var opening = state.withLock(\.opening)
      defer { state.withLock { [opening] in $0.opening = opening } }
      return try opening.read(reader, into: buffer, at: offset)
    }

    /// Throws if the stream ended before the length that the origin stated.
    private static func checkEnd(at offset: Int64, of reader: MediaReader) throws {
      guard let length = try reader.contentInformationBlocking().length, offset < length else {
        return
      }
      throw MediaCacheError(
        .unreachable, "The stream ended at byte \(offset) of \(length).", remedy: "Try again.")
    }

    /// Waits for the network, and returns whether the read is still wanted.
    private func waitForNetwork(_ delay: Duration, _ reader: MediaReader) -> Bool {
      _ = wake.wait(timeout: .now() + delay.inSeconds)
      return state.withLock { !$0.isCancelled && $0.reader === reader }
    }

    /// Whether the item is a station of which a part is kept, and whose decoder goes on with the
    /// bytes of another response.
    private func canJoinAgain(_ reader: MediaReader, from start: Int64) -> Bool {
      guard playback.item.rewind != nil, playback.isHeard, playback.isLive else { return false }
      // It was joined again before.
      if start > 0 { return true }
      let type = try? reader.contentInformationBlocking().mimeType
      return LiveOpening(mimeType: type) != nil || ["audio/ogg", "application/ogg"].contains(type)
    }

    /// Continues a live stream that broke off with another response, which begins anywhere. Returns
    /// false if it is no longer wanted, or cannot be opened.
    private func joinAgain(_ old: MediaReader, at position: Int64) -> Bool {
      let fresh: MediaReader
      do {
        fresh = try playback.openReader()
      } catch {
        playback.fail(at: position, error)
        return false
      }
      let isReplaced = state.withLock { state in
        guard !state.isCancelled else { return false }
        (state.reader, state.opening, state.start) = (fresh, MPVOpening(), position)
        return true
      }
      playback.release(isReplaced ? old : fresh)
      return isReplaced
    }

    /// Sets the position and returns it; no byte is requested yet. A live stream is only read on in
    /// order: bytes elsewhere have passed, or are hours ahead.
    func seek(to offset: Int64) -> Int64 {
      guard offset >= 0 else { return Int64(MPV_ERROR_GENERIC.rawValue) }
      guard offset == position.load(ordering: .relaxed) || !playback.isLive else {
        return Int64(MPV_ERROR_UNSUPPORTED.rawValue)
      }
      position.store(offset, ordering: .relaxed)
      state.withLock { $0.seeks += 1 }
      return offset
    }

    /// Returns the length in bytes. Blocks until the origin's first response.
    func size() -> Int64 {
      let reader = state.withLock { $0.reader }
      if playback.hasRefused(at: 0) { return Int64(MPV_ERROR_GENERIC.rawValue) }
      do {
        if let length = try reader.contentInformationBlocking().length { return length }
        return Int64(MPV_ERROR_UNSUPPORTED.rawValue)
      } catch {
        // Every byte is missing: the first one stands for all.
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
      playback.release(reader)
      wake.signal()
    }

    /// Records that a listener is about to seek.
    func expectSeek() { state.withLock { $0.seeksBefore = $0.seeks } }

    /// Ends a waiting read with an error; later ones are not affected. For a seek while bytes do
    /// not arrive: the thread of mpv that waits in the read is also the one that seeks. A read made
    /// after the seek is wanted, and continues to wait. So does one of a live stream, in which
    /// libmpv seeks without its bytes.
    func interrupt() {
      guard !playback.isLive else { return }
      let (reader, isReading) = state.withLock { state in
        (state.reader, state.isReading && !state.isCancelled && state.seeks == state.seeksBefore)
      }
      // Fails while the reader has not settled on a version: nothing has played yet in which to
      // seek.
      guard isReading, let fresh = try? reader.another(fill: playback.item.fill) else { return }
      let isReplaced = state.withLock { state in
        guard state.reader === reader, !state.isCancelled else { return false }
        state.reader = fresh
        return true
      }
      guard isReplaced else { return fresh.cancel() }
      playback.add(fresh)
      playback.release(reader)
      wake.signal()
    }
  }

  extension MPVStream {
    /// The open streams, by number. libmpv receives the number and not a pointer: it may cancel a
    /// stream on one thread after it has closed it on another.
    private struct Open {
      var streams: [UInt: MPVStream] = [:]
      var lastNumber: UInt = 0
    }

    private static let open = Mutex(Open())

    /// Fills mpv's table of callbacks for this stream, and keeps the stream until `close_fn`.
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
