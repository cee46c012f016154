// SPDX-License-Identifier: MIT
import Foundation

/// The steps of reading, which neither wait nor touch a file.
extension MediaReader {
  /// The next step of reading at an offset.
  enum Step {
    case stored(StoredPart)
    /// In memory, from the offset on.
    case memory(Data)
    case end
    case wait(Wait)
  }

  /// Stored bytes from an offset up to another.
  struct StoredPart: Sendable {
    let generation: Generation
    let file: EntryFile
    let offset: Int64
    let upTo: Int64

    /// Returns the beginning of `buffer` that the part can fill.
    func space(in buffer: UnsafeMutableRawBufferPointer) -> UnsafeMutableRawBufferPointer {
      let count = upTo - offset < Int64(buffer.count) ? Int(upTo - offset) : buffer.count
      return UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
    }
  }

  /// A wait for bytes, or for the first response. Returns without either if the reader should look
  /// again for another reason.
  struct Wait: Sendable {
    fileprivate let generation: Generation
    fileprivate let reader: ReaderID
    /// Nil: for the content information.
    fileprivate let offset: Int64?

    func inTask() async throws { try await generation.wait(reader, at: offset) }

    /// Blocks the thread.
    func blocking() throws { try generation.waitBlocking(reader, at: offset) }
  }

  enum InformationStep {
    case known(ContentInformation)
    case wait(Wait)
  }

  /// Returns the next step at an offset. Records the offset as the read position, and moves to the
  /// current generation if nothing was read of this one.
  func next(at offset: Int64, count: Int) throws -> Step {
    try Self.check(offset)
    let place = Self.bounded(offset)
    while true {
      let (generation, id) = try current()
      switch generation.lookUp(id, at: place, count: count) {
      case .stored(let upTo, let file):
        return .stored(
          StoredPart(generation: generation, file: file, offset: offset, upTo: upTo))
      case .transient(let bytes): return .memory(bytes)
      case .end: return .end
      case .moved: try move(from: generation)
      case .failed(let error): throw error
      case .wait: return .wait(Wait(generation: generation, reader: id, offset: place))
      }
    }
  }

  /// Returns the next step towards the content information.
  func nextInformation() throws -> InformationStep {
    while true {
      let (generation, id) = try current()
      if let information = try known(generation, id) { return .known(information) }
      // Moved to another generation: this one no longer knows the reader.
      if try current().0 !== generation { continue }
      return .wait(Wait(generation: generation, reader: id, offset: nil))
    }
  }

  private func known(_ generation: Generation, _ id: ReaderID) throws -> ContentInformation? {
    let (information, isMoved, isWithheld) = generation.withState { state in
      let reader = state.readers[id]
      let isMoved = state.isSuperseded && reader?.hasRead == false
      let isWithheld = reader.map { state.isWithheld(from: $0) } ?? false
      return (reader?.awaitsConfirmation == true ? nil : state.info, isMoved, isWithheld)
    }
    if isMoved {
      try move(from: generation)
      return nil
    }
    if isWithheld { throw GenerationState.withheld }
    return information
  }

  /// Clamps an offset: no resource is that long, and sums with larger offsets could overflow.
  static func bounded(_ offset: Int64) -> Int64 { min(offset, 1 << 62) }

  static func check(_ offset: Int64) throws(MediaCacheError) {
    guard offset >= 0 else {
      throw MediaCacheError(
        .badRange, "\(offset) is not a valid offset.", remedy: "Offsets begin at 0.")
    }
  }
}
