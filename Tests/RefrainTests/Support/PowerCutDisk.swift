// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

@testable import Refrain

/// The system's disk, with an account of the state that a power cut would leave: all synced data,
/// and a random part of the rest.
///
/// A file's bytes are safe once the file was synced after they were written, its name once its
/// directory was. Of the rest, any block of 4 KiB and any name may or may not survive, regardless
/// of the order of writing. Files are synced in the account only: a real disk's fsync would take
/// time and prove nothing.
final class PowerCutDisk: DiskLayer {
  /// The state of the disk at the moment of a cut, before random losses.
  struct Image: Sendable {
    fileprivate var files: [Int: File] = [:]
    fileprivate var names = Names()
  }

  fileprivate struct File: Sendable {
    /// The bytes as of the last sync.
    var durable: [UInt8] = []
    var unsynced: [Change] = []

    enum Change: Sendable {
      case write(at: Int, [UInt8])
      case truncate(to: Int)
    }
  }

  fileprivate enum Node: Sendable, Hashable {
    case file(Int)
    case directory
  }

  fileprivate struct Names: Sendable {
    var durable: [String: Node] = [:]
    var current: [String: Node] = [:]
    /// The unsynced changes of each directory, in order.
    var unsynced: [String: [Change]] = [:]

    enum Change: Sendable {
      case set(String, Node)
      case remove(String)
      case rename(String, to: String, Node)
    }

    mutating func change(_ change: Change, in directory: String) {
      unsynced[directory, default: []].append(change)
      Self.apply(change, to: &current)
    }

    static func apply(_ change: Change, to names: inout [String: Node]) {
      switch change {
      case .set(let name, let node): names[name] = node
      case .remove(let name): names[name] = nil
      case .rename(let old, let new, let node):
        names[old] = nil
        names[new] = node
      }
    }
  }

  private struct State {
    var image = Image()
    var descriptors: [Int32: Int] = [:]
    var nextFile = 0
    var operations = 0
    var syncs = 0
  }

  let system = SystemDisk()
  private let state = Mutex(State())
  /// Called after every operation, with its number.
  private let afterOperation: @Sendable (Int) -> Void

  init(afterOperation: @Sendable @escaping (Int) -> Void = { _ in }) {
    self.afterOperation = afterOperation
  }

  /// The state that a cut at this moment would leave.
  var image: Image { state.withLock { $0.image } }

  private func note(_ change: (inout State) -> Void) {
    let number = state.withLock { state in
      change(&state)
      state.operations += 1
      return state.operations
    }
    afterOperation(number)
  }

  private static func parent(_ path: String) -> String {
    path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
  }

  // MARK: Disk

  func makeDirectory(_ path: String) throws(DiskError) {
    try system.makeDirectory(path)
    note { state in
      guard state.image.names.current[path] == nil else { return }
      state.image.names.change(.set(path, .directory), in: Self.parent(path))
    }
  }

  /// Not in the account: attributes are neither bytes nor names, and lost ones are set again.
  func setStoredMediaAttributes(_ path: String) throws {
    try system.setStoredMediaAttributes(path)
  }

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> Int32 {
    let descriptor = try system.open(path, mode)
    note { state in
      if case .file(let file)? = state.image.names.current[path] {
        state.descriptors[descriptor] = file
        if mode == .create { state.image.files[file]?.unsynced.append(.truncate(to: 0)) }
      } else if mode == .create || mode == .lock {
        let file = state.nextFile
        state.nextFile += 1
        state.image.files[file] = File()
        state.image.names.change(.set(path, .file(file)), in: Self.parent(path))
        state.descriptors[descriptor] = file
      }
    }
    return descriptor
  }

  func close(_ descriptor: Int32) {
    state.withLock { $0.descriptors[descriptor] = nil }
    system.close(descriptor)
  }

  func write(
    _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int64
  ) throws(DiskError) {
    try system.write(bytes, to: descriptor, at: offset)
    let copy = [UInt8](bytes)
    note { state in
      guard let file = state.descriptors[descriptor] else { return }
      state.image.files[file]?.unsynced.append(.write(at: Int(offset), copy))
    }
  }

  func sync(_ descriptor: Int32) throws(DiskError) {
    // Bytes written during the sync are not covered by it.
    let (file, count) = state.withLock { state in
      let file = state.descriptors[descriptor]
      return (file, file.flatMap { state.image.files[$0]?.unsynced.count } ?? 0)
    }
    note { state in
      guard let file, var contents = state.image.files[file] else { return }
      for change in contents.unsynced.prefix(count) { contents.apply(change) }
      contents.unsynced.removeFirst(min(count, contents.unsynced.count))
      state.image.files[file] = contents
      state.syncs += 1
    }
  }

  func syncDirectory(_ path: String) throws(DiskError) {
    note { state in
      for change in state.image.names.unsynced.removeValue(forKey: path) ?? [] {
        Names.apply(change, to: &state.image.names.durable)
      }
    }
  }

  func rename(_ old: String, to new: String) throws(DiskError) {
    try system.rename(old, to: new)
    note { state in
      guard let node = state.image.names.current[old] else { return }
      state.image.names.change(.rename(old, to: new, node), in: Self.parent(new))
    }
  }

  func remove(_ path: String) throws(DiskError) {
    try system.remove(path)
    note { state in
      guard state.image.names.current[path] != nil else { return }
      state.image.names.change(.remove(path), in: Self.parent(path))
    }
  }

  func truncate(_ descriptor: Int32, to size: Int64) throws(DiskError) {
    try system.truncate(descriptor, to: size)
    note { state in
      guard let file = state.descriptors[descriptor] else { return }
      state.image.files[file]?.unsynced.append(.truncate(to: Int(size)))
    }
  }
}

extension PowerCutDisk.File {
  fileprivate mutating func apply(_ change: Change) {
    switch change {
    case .truncate(let size):
      durable.removeLast(max(0, durable.count - size))
      durable += [UInt8](repeating: 0, count: size - durable.count)
    case .write(let offset, let bytes):
      if durable.count < offset + bytes.count {
        durable += [UInt8](repeating: 0, count: offset + bytes.count - durable.count)
      }
      durable.replaceSubrange(offset..<(offset + bytes.count), with: bytes)
    }
  }

  /// Returns the file after a cut: with a random part of its unsynced blocks.
  fileprivate func afterCut(_ random: inout SeededGenerator) -> [UInt8] {
    var file = self
    // Sometimes none or all of them.
    let share: Double = ([0, 0.2, 0.5, 0.9, 1] as [Double]).randomElement(using: &random) ?? 0
    for change in unsynced {
      guard case .write(let offset, let bytes) = change else {
        if Double.random(in: 0..<1, using: &random) < share { file.apply(change) }
        continue
      }
      var start = 0
      while start < bytes.count {
        let end = min(bytes.count, start + 4096 - (offset + start) % 4096)
        if Double.random(in: 0..<1, using: &random) < share {
          file.apply(.write(at: offset + start, Array(bytes[start..<end])))
        } else if Bool.random(using: &random) {
          // The file has grown, but the new bytes were not written.
          let size = offset + end
          if file.durable.count < size {
            file.durable += [UInt8](repeating: 0, count: size - file.durable.count)
          }
        }
        start = end
      }
    }
    return file.durable
  }
}

extension PowerCutDisk.Image {
  /// Creates `copy` as a cut might leave `directory`, in which the disk was used.
  func materialise(
    _ directory: String, as copy: String, _ random: inout SeededGenerator
  ) throws {
    var names = names.durable
    for changes in self.names.unsynced.values {
      let share: Double = ([0, 0.3, 0.7, 1] as [Double]).randomElement(using: &random) ?? 0
      for change in changes where Double.random(in: 0..<1, using: &random) < share {
        PowerCutDisk.Names.apply(change, to: &names)
      }
    }
    try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
    // Parents first; a file that has lost its parent is lost.
    for path in names.keys.sorted(by: { $0.utf8.count < $1.utf8.count }) {
      let target = copy + path.dropFirst(directory.utf8.count)
      let parent = target.lastIndex(of: "/").map { String(target[..<$0]) } ?? ""
      guard FileManager.default.fileExists(atPath: parent) else { continue }
      switch names[path] {
      case .directory:
        try FileManager.default.createDirectory(
          atPath: target, withIntermediateDirectories: true)
      case .file(let id):
        let bytes = files[id]?.afterCut(&random) ?? []
        try Self.write(bytes, to: target)
      case nil: break
      }
    }
  }

  /// Writes a file without syncing it, which `Data.write` does.
  private static func write(_ bytes: [UInt8], to path: String) throws {
    guard let file = fopen(path, "w") else { throw CocoaError(.fileWriteUnknown) }
    let count = fwrite(bytes, 1, bytes.count, file)
    guard fclose(file) == 0, count == bytes.count else { throw CocoaError(.fileWriteUnknown) }
  }
}
