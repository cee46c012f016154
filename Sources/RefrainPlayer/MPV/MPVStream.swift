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
      /// The view of a live stream that is recorded; it replaces the reader.
      var view: MPVRecordedView?
      /// Whether it is known if the stream is recorded.
      var isDecided: Bool
      /// The number of mpv's seeks: in total, and at the last seek that a listener requested.
      var seeks = 0
      var seeksBefore = 0
      var isReading = false
      var isCancelled = false
    }

    init(of playback: MPVPlayback) throws {
      self.playback = playback
      let view = playback.withRewinding { $0.takeView() }
      state = Mutex(
        State(
          reader: try view?.recording.reader ?? playback.openReader(), view: view,
          isDecided: view != nil || playback.item.rewind == nil))
      playback.opened(self)
    }

    /// Reads like read(2): returns the number of bytes, 0 at the end, -1 on error. Blocks.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int64 {
      guard !buffer.isEmpty else { return 0 }
      if playback.hasRefused(at: position.load(ordering: .relaxed)) { return -1 }
      do {
        if let view = try recordedView() { return read(view, into: buffer) }
      } catch {
        playback.fail(at: position.load(ordering: .relaxed), error)
        return -1
      }
      var patience = NetworkPatience()
      while true {
        let offset = position.load(ordering: .relaxed)
        let reader = state.withLock { state in
          state.isReading = true
          return state.reader
        }
        defer { state.withLock { $0.isReading = false } }
        do {
          let count = Int64(try read(reader, into: buffer, at: offset))
          if count == 0 { try Self.checkEnd(at: offset, of: reader) }
          position.store(offset + count, ordering: .relaxed)
          playback.absence = nil
          playback.succeed(in: offset..<(offset + count))
          return count
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

    /// Returns the length in bytes. Blocks until the origin's first response; not if the stream is
    /// recorded, since libmpv asks again and again while it plays.
    func size() -> Int64 {
      let reader = state.withLock { $0.view == nil ? $0.reader : nil }
      guard let reader else { return Int64(MPV_ERROR_UNSUPPORTED.rawValue) }
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
        // The recording goes on.
        return state.view == nil ? state.reader : nil
      }
      if let reader { playback.release(reader) }
      wake.signal()
    }

    /// Records that a listener is about to seek.
    func expectSeek() { state.withLock { $0.seeksBefore = $0.seeks } }

    /// Ends a waiting read with an error; later ones are not affected. For a seek while bytes do
    /// not arrive: the thread of mpv that waits in the read is also the one that seeks. A read made
    /// after the seek is wanted, and continues to wait.
    func interrupt() {
      let (reader, isReading) = state.withLock { state in
        (state.reader, state.isReading && !state.isCancelled && state.seeks == state.seeksBefore)
      }
      guard state.withLock({ $0.view == nil }) else { return }
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

  /// Live streams that are recorded.
  extension MPVStream {
    /// Lets a read that waits for the recording look at it again.
    func lookAgain() { wake.signal() }

    /// Returns the view of a recorded stream; nil: the stream is not recorded. The first call waits
    /// for the origin's response, and starts the recording of a live stream if there is room.
    private func recordedView() throws -> MPVRecordedView? {
      let (reader, view, isDecided) = state.withLock { ($0.reader, $0.view, $0.isDecided) }
      guard !isDecided, let rewind = playback.item.rewind else { return view }
      state.withLock { $0.isReading = true }
      defer { state.withLock { $0.isReading = false } }
      _ = try reader.contentInformationBlocking()
      let made = reader.isPassing ? try playback.record(reader, keeping: rewind) : nil
      let isCancelled = state.withLock { state in
        (state.view, state.isDecided) = (made, true)
        return state.isCancelled
      }
      if isCancelled, let recording = made?.recording {
        recording.cancel()
        // Another stream of the item would read what ends here.
        playback.withRewinding { if $0.recording === recording { $0.recording = nil } }
      }
      return made
    }

    /// Reads a recorded stream, and waits for bytes that have yet to arrive.
    private func read(
      _ view: MPVRecordedView, into buffer: UnsafeMutableRawBufferPointer
    ) -> Int64 {
      var view = view
      while !state.withLock({ $0.isCancelled }) {
        let position = position.load(ordering: .relaxed)
        if let count = view.readHeader(into: buffer, at: position) { return advance(by: count) }
        let offset = view.recordedOffset(of: position)
        switch view.recording.read(into: buffer, at: offset, waiter: wake) {
        case .bytes(let count):
          guard view.opening != nil else { return advance(by: count) }
          look(at: buffer[..<count], in: &view)
          continue
        case .end:
          guard view.opening != nil else { return 0 }
          look(at: buffer[..<0], in: &view)
          continue
        case .failed(let error):
          playback.fail(at: position, error)
          return -1
        case .dropped(let start) where view.recording.window == nil:
          (view.offset, view.opening) = (view.offset + start - offset, nil)
          state.withLock { [view] in $0.view = view }
          continue
        case .dropped:
          // The loop loads the item again where the recording begins, and cancels this stream; or
          // it wakes this read, if no such place is left.
          playback.withRewinding { $0.hasFallenBehind = true }
          playback.noteChange()
        case .wait: break
        }
        state.withLock { $0.isReading = true }
        wake.wait()
        state.withLock { $0.isReading = false }
      }
      return -1
    }

    /// Searches the first frame in bytes that libmpv does not receive yet.
    private func look(
      at bytes: Slice<UnsafeMutableRawBufferPointer>, in view: inout MPVRecordedView
    ) {
      view.look(at: UnsafeRawBufferPointer(rebasing: bytes))
      state.withLock { [view] in $0.view = view }
    }

    private func advance(by count: Int) -> Int64 {
      let position = position.load(ordering: .relaxed)
      playback.succeed(in: position..<(position + Int64(count)))
      self.position.store(position + Int64(count), ordering: .relaxed)
      return Int64(count)
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
