// SPDX-License-Identifier: MIT
#if os(Linux)
  import Dispatch
  import Refrain
  import RefrainLocks

  /// Records a live stream in a ring on disk, from one request, and lets one read in it.
  ///
  /// The ring keeps the sound of a duration, and at most half of the cache's limit; less on a full
  /// disk. Times are counted in the samples of the frames, so that they are exact; a stream of an
  /// unknown format is kept by the byte, and cannot be sought in.
  final class LiveRecording: Sendable {
    private let file: ScratchFile
    private let state: Mutex<State>
    /// Called when bytes have arrived after a while: twice per second of sound at most.
    private let changed: @Sendable () -> Void

    fileprivate struct State {
      var reader: MediaReader
      var ring: LiveRing
      /// Why nothing more is recorded; success: the broadcast is over.
      var outcome: Result<Void, MediaCacheError>?
      var absence: MediaCacheError?
      /// Signalled when bytes arrive.
      var waiters: [DispatchSemaphore] = []
      /// The end of the sound at the last call of `changed`.
      var reported = Duration.zero
      var task: Task<Void, Never>?
      var isCancelled = false
      /// Whether the disk had no room for a further block.
      var isDiskFull = false
    }

    /// - Parameters:
    ///   - reader: the stream's, of which nothing was read.
    ///   - rewind: the duration to keep.
    ///   - file: the place for the bytes.
    ///   - blockSize: the bytes that are dropped at once.
    ///   - changed: called on any thread.
    init(
      _ reader: MediaReader, keeping rewind: Duration, in file: ScratchFile,
      blockSize: Int64 = 64 << 10, changed: @escaping @Sendable () -> Void = {}
    ) {
      self.file = file
      self.changed = changed
      state = Mutex(
        State(reader: reader, ring: LiveRing(keeping: rewind, blockSize: blockSize)))
    }

    /// Makes room for the first block, with which a recording goes on whatever becomes of the disk.
    ///
    /// - Throws: `MediaCacheError`, `.storage` if there is none.
    func prepare() async throws {
      try await Task(executorPreference: IOThreads.shared) { try await self.grow() }.value
    }

    /// Starts recording, until `cancel()`.
    ///
    /// - Parameter reopen: opens a further reader in place of one whose connection broke off.
    func start(reopen: @escaping @Sendable (MediaReader) async throws -> MediaReader) {
      // Writing to a file blocks.
      let task = Task(executorPreference: IOThreads.shared) { await self.run(reopen) }
      let isCancelled = state.withLock { state in
        state.task = task
        return state.isCancelled
      }
      if isCancelled { task.cancel() }
    }

    /// Stops recording, and ends every read.
    func cancel() {
      let (task, reader) = state.withLock { state in
        state.isCancelled = true
        return (state.task, state.reader)
      }
      task?.cancel()
      reader.cancel()
      finish(.failure(MediaCacheError(.closed, "The recording of the live stream was stopped.")))
    }

    // MARK: What is recorded

    /// The recorded part; nil while there is none in which one can seek.
    var window: LiveWindow? { state.withLock(\.ring.window) }

    /// The error while the origin cannot be reached.
    var absence: MediaCacheError? { state.withLock(\.absence) }

    /// The reader of the current response.
    var reader: MediaReader { state.withLock(\.reader) }

    /// The bytes of the ring on disk.
    var ringSize: Int64 { state.withLock(\.ring.slots.fileSize) }

    func place(at position: Duration) -> (point: LivePoint, header: [UInt8])? {
      state.withLock { $0.ring.place(at: position) }
    }

    func title(at position: Duration) -> StreamTitle? {
      state.withLock { $0.ring.title(at: position) }
    }

    // MARK: Reading

    enum Reading {
      case bytes(Int)
      /// The byte is no longer in the ring, which begins at this one.
      case dropped(start: Int64)
      /// The byte has yet to arrive: the waiter is signalled then.
      case wait
      /// The broadcast is over.
      case end
      case failed(MediaCacheError)
    }

    /// Reads the recorded bytes at `offset`, at most the buffer. Blocks only for the disk.
    func read(
      into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, waiter: DispatchSemaphore
    ) -> Reading {
      switch state.withLock({ $0.step(at: offset, waiter) }) {
      case .done(let reading): return reading
      case .read(let place, let count):
        let count = min(count, buffer.count)
        do {
          let read = try file.read(
            into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), at: place)
          // A block that was dropped meanwhile may have been written again.
          let start = state.withLock(\.ring.start)
          guard offset >= start else { return .dropped(start: start) }
          guard read > 0 else {
            return .failed(MediaCacheError(.storage, "The recorded live stream is cut short."))
          }
          return .bytes(read)
        } catch {
          return .failed(MediaCacheError(carrying: error))
        }
      }
    }

    // MARK: Recording

    private func run(_ reopen: @Sendable (MediaReader) async throws -> MediaReader) async {
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
      defer { buffer.deallocate() }
      var patience = NetworkPatience()
      // The bytes of earlier responses.
      var before: Int64 = 0
      while !Task.isCancelled {
        do {
          let (reader, end) = state.withLock { ($0.reader, $0.ring.end) }
          let count = try await reader.read(into: buffer, at: end - before)
          guard count > 0 else { return finish(.success(())) }
          patience = NetworkPatience()
          let title = reader.streamTitle(at: end - before + Int64(count) - 1)
          try await append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
          note(title, after: before)
        } catch {
          let error = MediaCacheError(carrying: error)
          guard await waits(after: error, &patience) else { return finish(.failure(error)) }
          do {
            let old = reader
            let fresh = try await reopen(old)
            let isCancelled = state.withLock { state in
              state.reader = fresh
              state.ring.breakOff()
              before = state.ring.end
              return state.isCancelled
            }
            old.cancel()
            if isCancelled { fresh.cancel() }
          } catch {
            return finish(.failure(MediaCacheError(carrying: error)))
          }
        }
      }
    }

    /// Waits before the stream is requested again. Returns false if it should not be.
    private func waits(after error: MediaCacheError, _ patience: inout NetworkPatience) async
      -> Bool
    {
      let canContinue = state.withLock { state in
        guard patience.bears(error) || error.code == .resourceChanged,
          state.ring.framing.canContinue, !state.isCancelled
        else { return false }
        state.absence = error
        return true
      }
      guard canContinue else { return false }
      changed()
      // On cancellation the loop ends.
      try? await Task.sleep(for: patience.nextDelay())
      return true
    }

    /// Writes bytes behind those of the ring. Blocks for the disk.
    private func append(_ bytes: UnsafeRawBufferPointer) async throws {
      var rest = bytes
      while !rest.isEmpty {
        let place = try await placeForNext()
        let part = UnsafeRawBufferPointer(rebasing: rest[..<min(rest.count, place.count)])
        try file.write(part, at: place.offset)
        rest = UnsafeRawBufferPointer(rebasing: rest[part.count...])
        let (waiters, isNews) = state.withLock { state in
          state.ring.take(part)
          state.absence = nil
          defer { state.waiters = [] }
          let end = state.ring.framing.end
          let isNews = end - state.reported >= .milliseconds(500)
          if isNews { state.reported = end }
          return (state.waiters, isNews)
        }
        for waiter in waiters { waiter.signal() }
        if isNews { changed() }
      }
    }

    /// Returns the place in the file for the next bytes, and their number at most. The ring grows
    /// while its sound is shorter than wanted and there is room, otherwise the oldest block goes.
    private func placeForNext() async throws -> (offset: Int64, count: Int) {
      func place() -> (offset: Int64, count: Int)? {
        state.withLock { state in
          if let place = state.ring.slots.place(of: state.ring.end) { return place }
          state.ring.dropOld()
          return state.ring.addBlock() ? state.ring.slots.place(of: state.ring.end) : nil
        }
      }
      if let place = place() { return place }
      do {
        try await grow()
      } catch {
        guard state.withLock({ $0.ring.dropFirst() }) else { throw error }
      }
      guard let place = place() else {
        throw MediaCacheError(.storage, "The recorded live stream has no place in its file.")
      }
      return place
    }

    /// Adds a block to the file. Blocks for the disk.
    ///
    /// - Throws: `MediaCacheError`, `.storage` if there is no room for it.
    private func grow() async throws {
      let (size, block, isDiskFull) = state.withLock {
        ($0.ring.slots.fileSize, $0.ring.slots.blockSize, $0.isDiskFull)
      }
      let isAllowed = file.limit.map { size + block <= max($0 / 2, block) } ?? true
      guard !isDiskFull, isAllowed, await file.reserve(block) else {
        throw MediaCacheError(
          .storage, "The cache has no room for recording live sound.",
          remedy: "Raise its limit, or play without rewinding.")
      }
      do {
        // What is recorded there later needs no more room on the disk.
        try [UInt8](repeating: 0, count: Int(block)).withUnsafeBytes {
          try file.write($0, at: size)
        }
      } catch {
        state.withLock { $0.isDiskFull = true }
        throw error
      }
      state.withLock { $0.ring.grow() }
    }

    /// - Parameter before: the bytes of earlier responses, which the title's offset does not count.
    private func note(_ title: StreamTitle?, after before: Int64) {
      guard var title else { return }
      title.offset += before
      state.withLock { $0.ring.note(title) }
    }

    private func finish(_ outcome: Result<Void, MediaCacheError>) {
      let waiters = state.withLock { state in
        if state.outcome == nil { state.outcome = outcome }
        state.absence = nil
        defer { state.waiters = [] }
        return state.waiters
      }
      for waiter in waiters { waiter.signal() }
      changed()
    }
  }

  extension LiveRecording.State {
    fileprivate enum Step {
      case read(at: Int64, count: Int)
      case done(LiveRecording.Reading)
    }

    fileprivate mutating func step(at offset: Int64, _ waiter: DispatchSemaphore) -> Step {
      guard offset >= ring.start else { return .done(.dropped(start: ring.start)) }
      if offset < ring.end, let place = ring.slots.place(of: offset) {
        return .read(at: place.offset, count: Int(min(Int64(place.count), ring.end - offset)))
      }
      switch outcome {
      case .success?: return .done(.end)
      case .failure(let error)?: return .done(.failed(error))
      case nil: break
      }
      if !waiters.contains(where: { $0 === waiter }) { waiters.append(waiter) }
      return .done(.wait)
    }
  }
#endif
