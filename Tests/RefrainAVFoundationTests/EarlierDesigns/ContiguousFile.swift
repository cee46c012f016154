// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import Foundation
  import Refrain
  import RefrainLocks

  /// One download at a time into one temporary file without holes. A request that begins before the
  /// file does, or more than 300 KiB beyond the received bytes, cancels the download and all
  /// waiting requests, and restarts the file at its offset. Only a file that was filled from 0 to
  /// the end in one go is kept. As published by TBPlayer.
  final class ContiguousFile: EarlierDesign {
    private struct State {
      var calls: [Call] = []
      var start: Int64 = 0
      var count: Int64 = 0
      var length: Int64?
      var download: Task<Void, Never>?
      /// Distinguishes a download's bytes from those of a cancelled one.
      var number = 0
    }

    private static let reach: Int64 = 300 << 10

    private let url: URL
    private let temporary: URL
    private let file: URL
    private let handle: FileHandle
    private let transport: any Transport
    private let meter: Meter
    private let state: Mutex<State>

    init(_ url: URL, file: URL, transport: any Transport, meter: Meter) throws {
      self.url = url
      self.file = file
      self.transport = transport
      self.meter = meter
      temporary = file.appendingPathExtension("temporary")
      var state = State()
      if let stored = try? FileHandle(forUpdating: file) {
        handle = stored
        state.count = Int64(try stored.seekToEnd())
        state.length = state.count
      } else {
        try Data().write(to: temporary)
        handle = try FileHandle(forUpdating: temporary)
      }
      self.state = Mutex(state)
    }

    func add(_ call: Call) {
      state.withLock { state in
        let isWhole = state.start == 0 && state.count == state.length
        if state.download == nil, !isWhole {
          begin(&state, at: 0)
        } else if call.offset < state.start
          || call.offset > state.start + state.count + Self.reach
        {
          for other in state.calls { other.breakOff() }
          state.calls = []
          begin(&state, at: call.offset)
        }
        state.calls.append(call)
        answer(&state)
      }
    }

    func cancel(_ call: Call) {
      state.withLock { $0.calls.removeAll { $0.id == call.id } }
    }

    func end() { state.withLock { $0.download }?.cancel() }

    private func begin(_ state: inout State, at offset: Int64) {
      state.download?.cancel()
      try? handle.truncate(atOffset: 0)
      state.number += 1
      state.start = offset
      state.count = 0
      let range: (Int64, Int64?)? = offset > 0 ? (offset, nil) : nil
      state.download = Task { [weak self, url, transport, number = state.number] in
        guard let download = try? await Download(url, range, by: transport) else { return }
        self?.received(Data(), length: download.length, number)
        do {
          for try await chunk in download.body {
            self?.received(chunk, length: download.length, number)
          }
        } catch {}
      }
    }

    private func received(_ chunk: Data, length: Int64, _ number: Int) {
      state.withLock { state in
        guard state.number == number else { return }
        state.length = length
        do {
          try handle.seek(toOffset: UInt64(state.count))
          try handle.write(contentsOf: chunk)
        } catch { return }
        meter.wrote(media: chunk.count)
        state.count += Int64(chunk.count)
        // Before the last request is answered, after which the player may leave.
        if number == 1, state.count == length {
          try? FileManager.default.moveItem(at: temporary, to: file)
        }
        answer(&state)
      }
    }

    private func answer(_ state: inout State) {
      guard let length = state.length else { return }
      meter.scanned(state.calls.count)
      let reached = state.start + state.count
      for call in state.calls {
        call.describe(length: length)
        let end = call.end(length: length)
        let upTo = min(reached, end)
        guard call.offset >= state.start, call.offset < upTo else { continue }
        guard (try? handle.seek(toOffset: UInt64(call.offset - state.start))) != nil,
          let bytes = try? handle.read(upToCount: Int(upTo - call.offset))
        else { continue }
        meter.hold(bytes.count)
        call.give(bytes)
        meter.letGo(bytes.count)
        if call.offset >= end { call.finish() }
      }
      state.calls.removeAll { $0.offset >= $0.end(length: length) }
    }
  }
#endif
